-- The ghost records of a satellite, those that are not as they should be (zero hash key, applied 1900-01-01) first. There
-- is exactly one when all is well. Every row carries the number of all that are there. Reads only.
select
    "DV_HASHKEY_LNK_CUSTOMER_ACCOUNT" as dv_hashkey,
    dv_applied_timestamp,
    dv_load_timestamp,
    dv_recordsource,
    case
        when
            "DV_HASHKEY_LNK_CUSTOMER_ACCOUNT" = to_binary(repeat('00', 32), 'HEX')
            and dv_applied_timestamp = cast('1900-01-01' as timestamp_ntz(6))
            then true
        else false
    end as dv_is_ghost,
    count(*) over () as dv_found
from "VAULT"."SAT_HOLDING"
where dv_sid = 0
order by dv_is_ghost, dv_applied_timestamp, dv_hashkey
limit 20
