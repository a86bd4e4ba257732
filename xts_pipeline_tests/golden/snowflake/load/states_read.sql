-- How many states a batch has for one satellite, and of how many keys. Staged rows that share key, applied timestamp and
-- hashdiff are one state. Reads only.
select
    count(*) as rows_read,
    count(distinct dv_hashkey) as keys_read
from (
    select distinct
        "DV_HASHKEY_LNK_CUSTOMER_ACCOUNT" as dv_hashkey,
        dv_applied_timestamp,
        "DV_HASHDIFF_SAT_HOLDING" as dv_hashdiff
    from "STAGED"."BANK__ROWS"
    where
        dv_batch_id = %(batch_id)s
        and "DV_RECTARGET_SAT_HOLDING" is not null
) as states
