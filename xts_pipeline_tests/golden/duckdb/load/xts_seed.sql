-- Seeds the XTS of a satellite that has had none: each of its rows becomes a fact with the row's own load timestamp.
-- Inserts rows of this record target alone.
insert into "vault"."sat_xt_lnk_customer_account" (
    dv_tenant_id,
    "dv_hashkey_lnk_customer_account",
    dv_load_timestamp,
    dv_applied_timestamp,
    dv_recordsource,
    dv_hashdiff,
    dv_rectarget,
    dv_sequence_violation
)
with
loads as (
    select
        "dv_hashkey_lnk_customer_account" as dv_hashkey,
        dv_load_timestamp,
        max(dv_applied_timestamp) as newest_applied_timestamp
    from "vault"."sat_holding"
    where dv_sid <> 0
    group by "dv_hashkey_lnk_customer_account", dv_load_timestamp
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
)
select
    known.dv_tenant_id,
    known."dv_hashkey_lnk_customer_account",
    known.dv_load_timestamp,
    known.dv_applied_timestamp,
    known.dv_recordsource,
    known.dv_hashdiff,
    $record_target as dv_rectarget,
    coalesce(loads_before.newest_applied_timestamp > known.dv_applied_timestamp, false) as dv_sequence_violation
from "vault"."sat_holding" as known
inner join loads_before
    on known."dv_hashkey_lnk_customer_account" = loads_before.dv_hashkey
    and known.dv_load_timestamp = loads_before.dv_load_timestamp
where known.dv_sid <> 0
