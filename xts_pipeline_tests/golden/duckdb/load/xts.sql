-- Logs every hashdiff the batch states for one satellite, unchanged ones too: the heartbeats. Runs whatever the SWITCH
-- says. dv_sequence_violation is per row: the row is older than a fact of its key and record target with an earlier
-- load. Inserts rows of this batch's load timestamp and record target alone.
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
facts as (
    select distinct
        dv_tenant_id,
        "dv_hashkey_lnk_customer_account" as dv_hashkey,
        dv_applied_timestamp,
        dv_recordsource,
        "dv_hashdiff_sat_holding" as dv_hashdiff,
        "dv_rectarget_sat_holding" as dv_rectarget
    from "staged"."bank__rows"
    where
        dv_batch_id = $batch_id
        and "dv_rectarget_sat_holding" is not null
),
newest as (
    select
        xts."dv_hashkey_lnk_customer_account" as dv_hashkey,
        max(xts.dv_applied_timestamp) as newest_applied_timestamp
    from "vault"."sat_xt_lnk_customer_account" as xts
    where
        xts.dv_rectarget = $record_target
        and xts.dv_load_timestamp < $load_timestamp
        and xts.dv_applied_timestamp > $earliest_applied_timestamp
        and xts."dv_hashkey_lnk_customer_account" in (select facts.dv_hashkey from facts)
    group by xts."dv_hashkey_lnk_customer_account"
)
select
    facts.dv_tenant_id,
    facts.dv_hashkey,
    $load_timestamp as dv_load_timestamp,
    facts.dv_applied_timestamp,
    facts.dv_recordsource,
    facts.dv_hashdiff,
    facts.dv_rectarget,
    coalesce(newest.newest_applied_timestamp > facts.dv_applied_timestamp, false) as dv_sequence_violation
from facts
left join newest
    on facts.dv_hashkey = newest.dv_hashkey
