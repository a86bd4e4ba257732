-- A sample of a satellite's rows, to be hashed again: those with the smallest hashdiffs, which is the same sample each
-- time. The ghost is left out. Reads only: one batch's rows, or all.
select
    "DV_HASHKEY_LNK_CUSTOMER_ACCOUNT" as dv_hashkey,
    dv_applied_timestamp,
    dv_load_timestamp,
    dv_xts_event,
    "SHARE",
    dv_hashdiff
from "VAULT"."SAT_HOLDING"
where
    dv_sid <> 0
order by dv_hashdiff, "DV_HASHKEY_LNK_CUSTOMER_ACCOUNT", dv_applied_timestamp, dv_load_timestamp
limit 200
