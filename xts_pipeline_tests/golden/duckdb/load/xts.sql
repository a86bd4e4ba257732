-- Logs every hashdiff the batch states for one satellite, unchanged ones too: the heartbeats. Runs whatever the SWITCH
-- says. dv_sequence_violation is per row: the row is older than a fact of its key and record target with an earlier
-- load. With `nothing_later`, no fact stands where a row could be older than it. A key goes by its row's number where no
-- key is staged twice (`one_row_a_key`), else by its hash. Inserts rows of this batch's load timestamp and record target
-- alone.
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
        "dv_hashkey_lnk_customer_account" as dv_key,
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
touched as (
    select distinct
        dv_key,
        dv_hashkey
    from facts
),
newest as (
    select
        touched.dv_key,
        max(xts.dv_applied_timestamp) as newest_applied_timestamp
    from "vault"."sat_xt_lnk_customer_account" as xts
    inner join touched
        on xts."dv_hashkey_lnk_customer_account" = touched.dv_hashkey
    where
        xts.dv_rectarget = $record_target
        and xts.dv_load_timestamp < $load_timestamp
        and xts.dv_applied_timestamp > $earliest_applied_timestamp
    group by touched.dv_key
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
    on facts.dv_key = newest.dv_key
