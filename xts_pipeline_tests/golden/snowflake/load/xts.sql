-- Logs every hashdiff the batch states for one satellite, unchanged ones too: the heartbeats. Runs whatever the SWITCH
-- says. dv_sequence_violation is per row: the row is older than a fact of its key and record target with an earlier
-- load. Inserts rows of this batch's load timestamp and record target alone.
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
facts as (
    select distinct
        dv_tenant_id,
        "DV_HASHKEY_LNK_CUSTOMER_ACCOUNT" as dv_hashkey,
        dv_applied_timestamp,
        dv_recordsource,
        "DV_HASHDIFF_SAT_HOLDING" as dv_hashdiff,
        "DV_RECTARGET_SAT_HOLDING" as dv_rectarget
    from "STAGED"."BANK__ROWS"
    where
        dv_batch_id = %(batch_id)s
        and "DV_RECTARGET_SAT_HOLDING" is not null
),
newest as (
    select
        xts."DV_HASHKEY_LNK_CUSTOMER_ACCOUNT" as dv_hashkey,
        max(xts.dv_applied_timestamp) as newest_applied_timestamp
    from "VAULT"."SAT_XT_LNK_CUSTOMER_ACCOUNT" as xts
    where
        xts.dv_rectarget = %(record_target)s
        and xts.dv_load_timestamp < %(load_timestamp)s
        and xts.dv_applied_timestamp > %(earliest_applied_timestamp)s
        and xts."DV_HASHKEY_LNK_CUSTOMER_ACCOUNT" in (select facts.dv_hashkey from facts)
    group by xts."DV_HASHKEY_LNK_CUSTOMER_ACCOUNT"
)
select
    facts.dv_tenant_id,
    facts.dv_hashkey,
    %(load_timestamp)s as dv_load_timestamp,
    facts.dv_applied_timestamp,
    facts.dv_recordsource,
    facts.dv_hashdiff,
    facts.dv_rectarget,
    coalesce(newest.newest_applied_timestamp > facts.dv_applied_timestamp, false) as dv_sequence_violation
from facts
left join newest
    on facts.dv_hashkey = newest.dv_hashkey
