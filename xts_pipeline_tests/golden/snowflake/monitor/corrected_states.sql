-- What a batch changed inside the timeline of a satellite: for the first few keys of which it put a state before or at one
-- that was known, their states from the one before it on, each with its business key. Reads only: the rows of those keys.
with
written as (
    select
        "DV_HASHKEY_LNK_CUSTOMER_ACCOUNT" as dv_hashkey,
        min(dv_applied_timestamp) as first_applied_timestamp,
        max(case when dv_xts_event = 'copy' then 1 else 0 end) as has_copies
    from "VAULT"."SAT_HOLDING"
    where
        dv_sid <> 0
        and dv_load_timestamp = %(load_timestamp)s
    group by "DV_HASHKEY_LNK_CUSTOMER_ACCOUNT"
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
            from "VAULT"."SAT_HOLDING" as known
            where
                known.dv_sid <> 0
                and known."DV_HASHKEY_LNK_CUSTOMER_ACCOUNT" = written.dv_hashkey
                and known.dv_load_timestamp < %(load_timestamp)s
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
        , known."SHARE" as "SHARE"
    from "VAULT"."SAT_HOLDING" as known
    inner join corrected
        on known."DV_HASHKEY_LNK_CUSTOMER_ACCOUNT" = corrected.dv_hashkey
    where
        known.dv_sid <> 0
        and known.dv_load_timestamp <= %(load_timestamp)s
    qualify
        known.dv_applied_timestamp >= corrected.first_applied_timestamp
        or row_number() over (
            partition by corrected.dv_hashkey, known.dv_applied_timestamp >= corrected.first_applied_timestamp
            order by known.dv_applied_timestamp desc, known.dv_load_timestamp desc
        ) = 1
)
select
    "HUB_0"."CUSTOMER_ID" as "CUSTOMER_ID",
    "HUB_1"."ACCOUNT_ID" as "ACCOUNT_ID",
    failing.dv_applied_timestamp,
    failing.dv_load_timestamp,
    failing.dv_xts_event,
    failing."SHARE",
    failing.dv_hashkey
from failing
left join "VAULT"."LNK_CUSTOMER_ACCOUNT" as link
    on failing.dv_hashkey = link."DV_HASHKEY_LNK_CUSTOMER_ACCOUNT"
left join "VAULT"."HUB_CUSTOMER" as "HUB_0"
    on link."DV_HASHKEY_HUB_CUSTOMER" = "HUB_0"."DV_HASHKEY_HUB_CUSTOMER"
left join "VAULT"."HUB_ACCOUNT" as "HUB_1"
    on link."DV_HASHKEY_HUB_ACCOUNT" = "HUB_1"."DV_HASHKEY_HUB_ACCOUNT"
order by failing.dv_hashkey, failing.dv_applied_timestamp, failing.dv_load_timestamp
