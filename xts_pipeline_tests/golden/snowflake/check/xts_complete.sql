-- The rows of a satellite that have no fact in the XTS: one of their key, applied timestamp and hashdiff, of their own load
-- or, for a restored state, of one before. The ghost is left out. Every row carries the number of all that were found.
-- Reads only: one batch's rows, or all.
with
failing as (
    select
        known."DV_HASHKEY_LNK_CUSTOMER_ACCOUNT" as dv_hashkey,
        known.dv_applied_timestamp,
        known.dv_load_timestamp,
        known.dv_xts_event,
        known.dv_hashdiff,
        count(*) over () as dv_found
    from "VAULT"."SAT_HOLDING" as known
    where
        known.dv_sid <> 0
        and not exists (
            select 1
            from "VAULT"."SAT_XT_LNK_CUSTOMER_ACCOUNT" as xts
            where
                xts."DV_HASHKEY_LNK_CUSTOMER_ACCOUNT" = known."DV_HASHKEY_LNK_CUSTOMER_ACCOUNT"
                and xts.dv_applied_timestamp = known.dv_applied_timestamp
                and xts.dv_hashdiff = known.dv_hashdiff
                and xts.dv_rectarget = %(record_target)s
                and xts.dv_load_timestamp <= known.dv_load_timestamp
                and (known.dv_xts_event = 'copy' or xts.dv_load_timestamp = known.dv_load_timestamp)
        )
    order by known.dv_load_timestamp desc, known.dv_applied_timestamp, known."DV_HASHKEY_LNK_CUSTOMER_ACCOUNT"
    limit 20
)
select
    "HUB_0"."CUSTOMER_ID" as "CUSTOMER_ID",
    "HUB_1"."ACCOUNT_ID" as "ACCOUNT_ID",
    failing.dv_applied_timestamp,
    failing.dv_load_timestamp,
    failing.dv_xts_event,
    failing.dv_hashdiff,
    failing.dv_hashkey,
    failing.dv_found
from failing
left join "VAULT"."LNK_CUSTOMER_ACCOUNT" as link
    on failing.dv_hashkey = link."DV_HASHKEY_LNK_CUSTOMER_ACCOUNT"
left join "VAULT"."HUB_CUSTOMER" as "HUB_0"
    on link."DV_HASHKEY_HUB_CUSTOMER" = "HUB_0"."DV_HASHKEY_HUB_CUSTOMER"
left join "VAULT"."HUB_ACCOUNT" as "HUB_1"
    on link."DV_HASHKEY_HUB_ACCOUNT" = "HUB_1"."DV_HASHKEY_HUB_ACCOUNT"
order by failing.dv_load_timestamp desc, failing.dv_applied_timestamp, failing.dv_hashkey
