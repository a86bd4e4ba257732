-- Some rows of a batch that was staged by SQL, to be hashed again in Python: those with the smallest hashes, which is as
-- good as at random. Reads only.
select
    "customer_id",
    "account_id",
    "city",
    "phone",
    "share",
    "dv_hashkey_hub_customer",
    "dv_hashkey_hub_account",
    "dv_hashkey_lnk_customer_account",
    "dv_hashdiff_sat_address",
    "dv_hashdiff_sat_contact",
    "dv_hashdiff_sat_holding"
from "staged"."bank__rows"
where dv_batch_id = $batch_id
order by
    "dv_hashdiff_sat_holding",
    "dv_hashdiff_sat_contact",
    "dv_hashdiff_sat_address",
    "dv_hashkey_lnk_customer_account",
    "dv_hashkey_hub_account",
    "dv_hashkey_hub_customer"
limit 200
