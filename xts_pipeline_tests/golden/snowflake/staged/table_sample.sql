-- Some rows of a batch that was staged by SQL, to be hashed again in Python: those with the smallest hashes, which is as
-- good as at random. Reads only.
select
    "CUSTOMER_ID",
    "ACCOUNT_ID",
    "CITY",
    "PHONE",
    "SHARE",
    "DV_HASHKEY_HUB_CUSTOMER",
    "DV_HASHKEY_HUB_ACCOUNT",
    "DV_HASHKEY_LNK_CUSTOMER_ACCOUNT",
    "DV_HASHDIFF_SAT_ADDRESS",
    "DV_HASHDIFF_SAT_CONTACT",
    "DV_HASHDIFF_SAT_HOLDING"
from "STAGED"."BANK__ROWS"
where dv_batch_id = %(batch_id)s
order by
    "DV_HASHDIFF_SAT_HOLDING",
    "DV_HASHDIFF_SAT_CONTACT",
    "DV_HASHDIFF_SAT_ADDRESS",
    "DV_HASHKEY_LNK_CUSTOMER_ACCOUNT",
    "DV_HASHKEY_HUB_ACCOUNT",
    "DV_HASHKEY_HUB_CUSTOMER"
limit 200
