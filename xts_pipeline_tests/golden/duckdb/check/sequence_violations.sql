-- The rows of a satellite that came late: facts older than one of their key with an earlier load, the latest first, each
-- with its business key. Every row carries the number of all that were found, of their keys, and of those for which the
-- satellite wrote a row: the others state what was known already. Reads only: one batch's facts, or all.
with
violations as (
    select
        xts."dv_hashkey_lnk_customer_account" as dv_hashkey,
        xts.dv_applied_timestamp,
        xts.dv_load_timestamp
    from "vault"."sat_xt_lnk_customer_account" as xts
    where
        xts.dv_rectarget = $record_target
        and xts.dv_sequence_violation
),
loads as (
    select
        xts."dv_hashkey_lnk_customer_account" as dv_hashkey,
        xts.dv_load_timestamp,
        max(xts.dv_applied_timestamp) as newest_applied_timestamp
    from "vault"."sat_xt_lnk_customer_account" as xts
    where
        xts.dv_rectarget = $record_target
        and xts."dv_hashkey_lnk_customer_account" in (select violations.dv_hashkey from violations)
    group by xts."dv_hashkey_lnk_customer_account", xts.dv_load_timestamp
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
        known."dv_hashkey_lnk_customer_account" as dv_hashkey,
        known.dv_load_timestamp,
        known.dv_applied_timestamp
    from "vault"."sat_holding" as known
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
    "hub_0"."customer_id" as "customer_id",
    "hub_1"."account_id" as "account_id",
    failing.dv_applied_timestamp,
    failing.dv_load_timestamp,
    failing.dv_newest_before,
    failing.dv_late_by,
    failing.dv_hashkey,
    failing.dv_keys,
    failing.dv_changed,
    failing.dv_found
from failing
left join "vault"."lnk_customer_account" as link
    on failing.dv_hashkey = link."dv_hashkey_lnk_customer_account"
left join "vault"."hub_customer" as "hub_0"
    on link."dv_hashkey_hub_customer" = "hub_0"."dv_hashkey_hub_customer"
left join "vault"."hub_account" as "hub_1"
    on link."dv_hashkey_hub_account" = "hub_1"."dv_hashkey_hub_account"
order by failing.dv_late_by desc nulls last, failing.dv_load_timestamp desc, failing.dv_applied_timestamp, failing.dv_hashkey
