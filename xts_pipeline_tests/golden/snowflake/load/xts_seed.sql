-- Seeds the XTS of a satellite that has had none: each of its rows becomes a fact with the row's own load timestamp.
-- Inserts rows of this record target alone.
insert into "VAULT"."SAT_XT_LNK_CUSTOMER_ACCOUNT" (
    dv_tenant_id,
    "DV_HASHKEY_LNK_CUSTOMER_ACCOUNT",
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
        "DV_HASHKEY_LNK_CUSTOMER_ACCOUNT" as dv_hashkey,
        dv_load_timestamp,
        max(dv_applied_timestamp) as newest_applied_timestamp
    from "VAULT"."SAT_HOLDING"
    where dv_sid <> 0
    group by "DV_HASHKEY_LNK_CUSTOMER_ACCOUNT", dv_load_timestamp
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
    known."DV_HASHKEY_LNK_CUSTOMER_ACCOUNT",
    known.dv_load_timestamp,
    known.dv_applied_timestamp,
    known.dv_recordsource,
    known.dv_hashdiff,
    %(record_target)s as dv_rectarget,
    coalesce(loads_before.newest_applied_timestamp > known.dv_applied_timestamp, false) as dv_sequence_violation
from "VAULT"."SAT_HOLDING" as known
inner join loads_before
    on known."DV_HASHKEY_LNK_CUSTOMER_ACCOUNT" = loads_before.dv_hashkey
    and known.dv_load_timestamp = loads_before.dv_load_timestamp
where known.dv_sid <> 0
