-- How many states a batch has for one satellite, and of how many keys. Staged rows that share key, applied timestamp and
-- hashdiff are one state. Reads only.
select
    count(*) as rows_read,
    count(distinct dv_hashkey) as keys_read
from (
    select distinct
        "dv_hashkey_lnk_customer_account" as dv_hashkey,
        dv_applied_timestamp,
        "dv_hashdiff_sat_holding" as dv_hashdiff
    from "staged"."bank__rows"
    where
        dv_batch_id = $batch_id
        and "dv_rectarget_sat_holding" is not null
) as states
