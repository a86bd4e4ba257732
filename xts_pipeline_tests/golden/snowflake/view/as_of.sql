-- The state of every key at one valid time, as known at one load timestamp, with its business key. Reads only.
-- A hub is joined without a bound on its load timestamp: of two sources that bring a key, the first to finish wins.
with
states as (
    select *
    from "VAULT"."SAT_HOLDING"
    where
        dv_sid <> 0
        and dv_applied_timestamp <= %(valid_at)s
        and dv_load_timestamp <= %(known_at)s
    qualify
        row_number() over (
            partition by "DV_HASHKEY_LNK_CUSTOMER_ACCOUNT"
            order by dv_applied_timestamp desc, dv_load_timestamp desc
        ) = 1
)
select
    "HUB_0"."CUSTOMER_ID" as "CUSTOMER_ID",
    "HUB_1"."ACCOUNT_ID" as "ACCOUNT_ID",
    states."SHARE" as "SHARE",
    states.dv_applied_timestamp,
    states.dv_load_timestamp,
    states.dv_xts_event,
    states.dv_recordsource,
    states."DV_HASHKEY_LNK_CUSTOMER_ACCOUNT"
from states
left join "VAULT"."LNK_CUSTOMER_ACCOUNT" as link
    on states."DV_HASHKEY_LNK_CUSTOMER_ACCOUNT" = link."DV_HASHKEY_LNK_CUSTOMER_ACCOUNT"
left join "VAULT"."HUB_CUSTOMER" as "HUB_0"
    on link."DV_HASHKEY_HUB_CUSTOMER" = "HUB_0"."DV_HASHKEY_HUB_CUSTOMER"
left join "VAULT"."HUB_ACCOUNT" as "HUB_1"
    on link."DV_HASHKEY_HUB_ACCOUNT" = "HUB_1"."DV_HASHKEY_HUB_ACCOUNT"
order by
    "CUSTOMER_ID" nulls last,
    "ACCOUNT_ID" nulls last
