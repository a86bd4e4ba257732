-- The rows of a satellite that came late: facts older than one of their key with an earlier load, the latest first, each
-- with its business key. Every row carries the number of all that were found, of their keys, and of those for which the
-- satellite wrote a row: the others state what was known already. Reads only: one batch's facts, or all.
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
written as (
    select
        known."DV_HASHKEY_LNK_CUSTOMER_ACCOUNT" as dv_hashkey,
        known.dv_load_timestamp,
        known.dv_applied_timestamp
    from "VAULT"."SAT_HOLDING" as known
    where
        known.dv_sid <> 0
),
failing as (
    select
        late_facts.dv_hashkey,
        late_facts.dv_applied_timestamp,
        late_facts.dv_load_timestamp,
        late_facts.dv_newest_before,
        late_facts.dv_late_by,
        count(*) over () as dv_found,
        count(distinct late_facts.dv_hashkey) over () as dv_keys,
        count(written.dv_hashkey) over () as dv_changed
    from late_facts
    left join written
        on late_facts.dv_hashkey = written.dv_hashkey
        and late_facts.dv_load_timestamp = written.dv_load_timestamp
        and late_facts.dv_applied_timestamp = written.dv_applied_timestamp
    order by
        late_facts.dv_late_by desc nulls last,
        late_facts.dv_load_timestamp desc,
        late_facts.dv_applied_timestamp,
        late_facts.dv_hashkey
    limit 20
)
select
    "HUB_0"."CUSTOMER_ID" as "CUSTOMER_ID",
    "HUB_1"."ACCOUNT_ID" as "ACCOUNT_ID",
    failing.dv_applied_timestamp,
    failing.dv_load_timestamp,
    failing.dv_newest_before,
    failing.dv_late_by,
    failing.dv_hashkey,
    failing.dv_keys,
    failing.dv_changed,
    failing.dv_found
from failing
left join "VAULT"."LNK_CUSTOMER_ACCOUNT" as link
    on failing.dv_hashkey = link."DV_HASHKEY_LNK_CUSTOMER_ACCOUNT"
left join "VAULT"."HUB_CUSTOMER" as "HUB_0"
    on link."DV_HASHKEY_HUB_CUSTOMER" = "HUB_0"."DV_HASHKEY_HUB_CUSTOMER"
left join "VAULT"."HUB_ACCOUNT" as "HUB_1"
    on link."DV_HASHKEY_HUB_ACCOUNT" = "HUB_1"."DV_HASHKEY_HUB_ACCOUNT"
order by failing.dv_late_by desc nulls last, failing.dv_load_timestamp desc, failing.dv_applied_timestamp, failing.dv_hashkey
