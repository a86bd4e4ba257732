-- The rows of a satellite that have no fact in the XTS: one of their key, applied timestamp and hashdiff, of their own load
-- or, for a restored state, of one before. The ghost is left out. Every row carries the number of all that were found.
-- Reads only: one batch's rows, or all.
with
failing as (
    select
        known."dv_hashkey_lnk_customer_account" as dv_hashkey,
        known.dv_applied_timestamp,
        known.dv_load_timestamp,
        known.dv_xts_event,
        known.dv_hashdiff,
        count(*) over () as dv_found
    from "vault"."sat_holding" as known
    where
        known.dv_sid <> 0
        and not exists (
            select 1
            from "vault"."sat_xt_lnk_customer_account" as xts
            where
                xts."dv_hashkey_lnk_customer_account" = known."dv_hashkey_lnk_customer_account"
                and xts.dv_applied_timestamp = known.dv_applied_timestamp
                and xts.dv_hashdiff = known.dv_hashdiff
                and xts.dv_rectarget = $record_target
                and xts.dv_load_timestamp <= known.dv_load_timestamp
                and (known.dv_xts_event = 'copy' or xts.dv_load_timestamp = known.dv_load_timestamp)
        )
    order by known.dv_load_timestamp desc, known.dv_applied_timestamp, known."dv_hashkey_lnk_customer_account"
    limit 20
)
select
    "hub_0"."customer_id" as "customer_id",
    "hub_1"."account_id" as "account_id",
    failing.dv_applied_timestamp,
    failing.dv_load_timestamp,
    failing.dv_xts_event,
    failing.dv_hashdiff,
    failing.dv_hashkey,
    failing.dv_found
from failing
left join "vault"."lnk_customer_account" as link
    on failing.dv_hashkey = link."dv_hashkey_lnk_customer_account"
left join "vault"."hub_customer" as "hub_0"
    on link."dv_hashkey_hub_customer" = "hub_0"."dv_hashkey_hub_customer"
left join "vault"."hub_account" as "hub_1"
    on link."dv_hashkey_hub_account" = "hub_1"."dv_hashkey_hub_account"
order by failing.dv_load_timestamp desc, failing.dv_applied_timestamp, failing.dv_hashkey
