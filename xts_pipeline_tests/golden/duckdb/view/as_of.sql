-- The state of every key at one valid time, as known at one load timestamp, with its business key. Reads only.
-- A hub is joined without a bound on its load timestamp: of two sources that bring a key, the first to finish wins.
with
states as (
    select *
    from "vault"."sat_holding"
    where
        dv_sid <> 0
        and dv_applied_timestamp <= $valid_at
        and dv_load_timestamp <= $known_at
    qualify
        row_number() over (
            partition by "dv_hashkey_lnk_customer_account"
            order by dv_applied_timestamp desc, dv_load_timestamp desc
        ) = 1
)
select
    "hub_0"."customer_id" as "customer_id",
    "hub_1"."account_id" as "account_id",
    states."share" as "share",
    states.dv_applied_timestamp,
    states.dv_load_timestamp,
    states.dv_xts_event,
    states.dv_recordsource,
    states."dv_hashkey_lnk_customer_account"
from states
left join "vault"."lnk_customer_account" as link
    on states."dv_hashkey_lnk_customer_account" = link."dv_hashkey_lnk_customer_account"
left join "vault"."hub_customer" as "hub_0"
    on link."dv_hashkey_hub_customer" = "hub_0"."dv_hashkey_hub_customer"
left join "vault"."hub_account" as "hub_1"
    on link."dv_hashkey_hub_account" = "hub_1"."dv_hashkey_hub_account"
order by
    "customer_id" nulls last,
    "account_id" nulls last
