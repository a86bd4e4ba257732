-- A sample of a satellite's rows, to be hashed again: those with the smallest hashdiffs, which is the same sample each
-- time. The ghost is left out. Reads only: one batch's rows, or all.
select
    "dv_hashkey_lnk_customer_account" as dv_hashkey,
    dv_applied_timestamp,
    dv_load_timestamp,
    dv_xts_event,
    "share",
    dv_hashdiff
from "vault"."sat_holding"
where
    dv_sid <> 0
order by dv_hashdiff, "dv_hashkey_lnk_customer_account", dv_applied_timestamp, dv_load_timestamp
limit 200
