-- What a batch changed inside the timeline of a satellite: for the first few keys of which it put a state before or at one
-- that was known, their states from the one before it on, each with its business key. Reads only: the rows of those keys.
with
written as (
    select
        "dv_hashkey_lnk_customer_account" as dv_hashkey,
        min(dv_applied_timestamp) as first_applied_timestamp,
        max(case when dv_xts_event = 'copy' then 1 else 0 end) as has_copies
    from "vault"."sat_holding"
    where
        dv_sid <> 0
        and dv_load_timestamp = $load_timestamp
    group by "dv_hashkey_lnk_customer_account"
),
corrected as (
    select
        written.dv_hashkey,
        written.first_applied_timestamp
    from written
    where
        written.has_copies = 1
        or exists (
            select 1
            from "vault"."sat_holding" as known
            where
                known.dv_sid <> 0
                and known."dv_hashkey_lnk_customer_account" = written.dv_hashkey
                and known.dv_load_timestamp < $load_timestamp
                and known.dv_applied_timestamp >= written.first_applied_timestamp
        )
    order by written.dv_hashkey
    limit 5
),
failing as (
    select
        corrected.dv_hashkey,
        known.dv_applied_timestamp,
        known.dv_load_timestamp,
        known.dv_xts_event
        , known."share" as "share"
    from "vault"."sat_holding" as known
    inner join corrected
        on known."dv_hashkey_lnk_customer_account" = corrected.dv_hashkey
    where
        known.dv_sid <> 0
        and known.dv_load_timestamp <= $load_timestamp
    qualify
        known.dv_applied_timestamp >= corrected.first_applied_timestamp
        or row_number() over (
            partition by corrected.dv_hashkey, known.dv_applied_timestamp >= corrected.first_applied_timestamp
            order by known.dv_applied_timestamp desc, known.dv_load_timestamp desc
        ) = 1
)
select
    "hub_0"."customer_id" as "customer_id",
    "hub_1"."account_id" as "account_id",
    failing.dv_applied_timestamp,
    failing.dv_load_timestamp,
    failing.dv_xts_event,
    failing."share",
    failing.dv_hashkey
from failing
left join "vault"."lnk_customer_account" as link
    on failing.dv_hashkey = link."dv_hashkey_lnk_customer_account"
left join "vault"."hub_customer" as "hub_0"
    on link."dv_hashkey_hub_customer" = "hub_0"."dv_hashkey_hub_customer"
left join "vault"."hub_account" as "hub_1"
    on link."dv_hashkey_hub_account" = "hub_1"."dv_hashkey_hub_account"
order by failing.dv_hashkey, failing.dv_applied_timestamp, failing.dv_load_timestamp
