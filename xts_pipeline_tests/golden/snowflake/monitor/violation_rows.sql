-- The sequence violations of one satellite, the newest load first, each with its business key, how late it was, and what
-- the satellite did: the event of the row it wrote there (none: the state stood there already) and how many states of the
-- key that load restored. Every row carries the number of all violations. Reads only.
with
violations as (
    select
        xts."DV_HASHKEY_LNK_CUSTOMER_ACCOUNT" as dv_hashkey,
        xts.dv_applied_timestamp,
        xts.dv_load_timestamp
    from "VAULT"."SAT_XT_LNK_CUSTOMER_ACCOUNT" as xts
    where
        xts.dv_rectarget = %(record_target)s
        and xts.dv_sequence_violation
),
loads as (
    select
        xts."DV_HASHKEY_LNK_CUSTOMER_ACCOUNT" as dv_hashkey,
        xts.dv_load_timestamp,
        max(xts.dv_applied_timestamp) as newest_applied_timestamp
    from "VAULT"."SAT_XT_LNK_CUSTOMER_ACCOUNT" as xts
    where
        xts.dv_rectarget = %(record_target)s
        and xts."DV_HASHKEY_LNK_CUSTOMER_ACCOUNT" in (select violations.dv_hashkey from violations)
    group by xts."DV_HASHKEY_LNK_CUSTOMER_ACCOUNT", xts.dv_load_timestamp
),
loads_before as (
    select
        dv_hashkey,
        dv_load_timestamp,
        max(newest_applied_timestamp) over (
            partition by dv_hashkey
            order by dv_load_timestamp
            rows between unbounded preceding and 1 preceding
        ) as newest_applied_timestamp
    from loads
),
late_facts as (
    select
        violations.dv_hashkey,
        violations.dv_applied_timestamp,
        violations.dv_load_timestamp,
        loads_before.newest_applied_timestamp as dv_newest_before,
        datediff('microsecond', violations.dv_applied_timestamp, loads_before.newest_applied_timestamp) as dv_late_by
    from violations
    inner join loads_before
        on violations.dv_hashkey = loads_before.dv_hashkey
        and violations.dv_load_timestamp = loads_before.dv_load_timestamp
),
failing as (
    select
        dv_hashkey,
        dv_applied_timestamp,
        dv_load_timestamp,
        dv_newest_before,
        dv_late_by,
        count(*) over () as dv_found
    from late_facts
    order by dv_load_timestamp desc, dv_late_by desc nulls last, dv_applied_timestamp, dv_hashkey
    limit 20
),
written as (
    select
        known."DV_HASHKEY_LNK_CUSTOMER_ACCOUNT" as dv_hashkey,
        known.dv_load_timestamp,
        known.dv_applied_timestamp,
        known.dv_xts_event
    from "VAULT"."SAT_HOLDING" as known
    where
        known.dv_sid <> 0
        and known.dv_load_timestamp in (select failing.dv_load_timestamp from failing)
        and known."DV_HASHKEY_LNK_CUSTOMER_ACCOUNT" in (select failing.dv_hashkey from failing)
),
restored as (
    select
        dv_hashkey,
        dv_load_timestamp,
        count(*) as dv_copies
    from written
    where dv_xts_event = 'copy'
    group by dv_hashkey, dv_load_timestamp
)
select
    "HUB_0"."CUSTOMER_ID" as "CUSTOMER_ID",
    "HUB_1"."ACCOUNT_ID" as "ACCOUNT_ID",
    failing.dv_applied_timestamp,
    failing.dv_load_timestamp,
    failing.dv_newest_before,
    failing.dv_late_by,
    coalesce(written.dv_xts_event, 'none') as dv_event,
    coalesce(restored.dv_copies, 0) as dv_copies,
    failing.dv_hashkey,
    failing.dv_found
from failing
left join written
    on failing.dv_hashkey = written.dv_hashkey
    and failing.dv_load_timestamp = written.dv_load_timestamp
    and failing.dv_applied_timestamp = written.dv_applied_timestamp
left join restored
    on failing.dv_hashkey = restored.dv_hashkey
    and failing.dv_load_timestamp = restored.dv_load_timestamp
left join "VAULT"."LNK_CUSTOMER_ACCOUNT" as link
    on failing.dv_hashkey = link."DV_HASHKEY_LNK_CUSTOMER_ACCOUNT"
left join "VAULT"."HUB_CUSTOMER" as "HUB_0"
    on link."DV_HASHKEY_HUB_CUSTOMER" = "HUB_0"."DV_HASHKEY_HUB_CUSTOMER"
left join "VAULT"."HUB_ACCOUNT" as "HUB_1"
    on link."DV_HASHKEY_HUB_ACCOUNT" = "HUB_1"."DV_HASHKEY_HUB_ACCOUNT"
order by failing.dv_load_timestamp desc, failing.dv_late_by desc nulls last, failing.dv_applied_timestamp, failing.dv_hashkey
