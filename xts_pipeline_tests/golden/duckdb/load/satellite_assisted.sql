-- The XTS-assisted load of a satellite: puts late rows in their place and restores the states after them.
-- For each key the batch touches, take its points (applied timestamps in the XTS) from the earliest staged one on; the
-- wanted hashdiff of a point is the one with the greatest load. A row is written at a point when
--   1. the satellite has a row there and its winning hashdiff is not the wanted one (a correction), or
--   2. it has none there and the wanted hashdiff differs from the wanted one of the point before.
-- Its payload is the batch's own where the batch states it (insert), else that of the key's row of the same hashdiff
-- with the greatest load, then applied timestamp (copy). A wanted state that neither has fails on dv_recordsource,
-- which is not null, rather than being lost.
-- Earlier points cannot change: the state before the first one is read from the satellite. Inserts rows of this batch's
-- load timestamp alone.
insert into "vault"."sat_holding" (
    dv_tenant_id,
    "dv_hashkey_lnk_customer_account",
    dv_load_timestamp,
    dv_applied_timestamp,
    dv_recordsource,
    dv_hashdiff,
    dv_sid,
    dv_xts_event
    , "share"
)
with
staged_states as (
    select
        dv_tenant_id,
        "dv_hashkey_lnk_customer_account" as dv_hashkey,
        dv_applied_timestamp,
        dv_recordsource,
        "dv_hashdiff_sat_holding" as dv_hashdiff
        , "share"
    from "staged"."bank__rows"
    where
        dv_batch_id = $batch_id
        and "dv_rectarget_sat_holding" is not null
    qualify
        row_number() over (
            partition by "dv_hashkey_lnk_customer_account", dv_applied_timestamp, "dv_hashdiff_sat_holding"
            order by
                "share" nulls last
        ) = 1
),
touched as (
    select
        dv_hashkey,
        min(dv_applied_timestamp) as earliest_applied_timestamp
    from staged_states
    group by dv_hashkey
),
points as (
    select
        touched.dv_hashkey,
        xts.dv_applied_timestamp,
        xts.dv_hashdiff
    from "vault"."sat_xt_lnk_customer_account" as xts
    inner join touched
        on xts."dv_hashkey_lnk_customer_account" = touched.dv_hashkey
        and xts.dv_applied_timestamp >= touched.earliest_applied_timestamp
    where
        xts.dv_rectarget = $record_target
        and xts.dv_load_timestamp <= $load_timestamp
        and xts.dv_applied_timestamp >= $earliest_applied_timestamp
    qualify
        row_number() over (
            partition by touched.dv_hashkey, xts.dv_applied_timestamp
            order by xts.dv_load_timestamp desc
        ) = 1
),
states_before as (
    select
        touched.dv_hashkey,
        known.dv_hashdiff
    from "vault"."sat_holding" as known
    inner join touched
        on known."dv_hashkey_lnk_customer_account" = touched.dv_hashkey
        and known.dv_applied_timestamp < touched.earliest_applied_timestamp
    where
        known.dv_sid <> 0
        and known.dv_load_timestamp < $load_timestamp
    qualify
        row_number() over (
            partition by touched.dv_hashkey
            order by known.dv_applied_timestamp desc, known.dv_load_timestamp desc
        ) = 1
),
standing as (
    select
        touched.dv_hashkey,
        known.dv_applied_timestamp,
        known.dv_hashdiff
    from "vault"."sat_holding" as known
    inner join touched
        on known."dv_hashkey_lnk_customer_account" = touched.dv_hashkey
        and known.dv_applied_timestamp >= touched.earliest_applied_timestamp
    where
        known.dv_sid <> 0
        and known.dv_load_timestamp < $load_timestamp
        and known.dv_applied_timestamp >= $earliest_applied_timestamp
    qualify
        row_number() over (
            partition by touched.dv_hashkey, known.dv_applied_timestamp
            order by known.dv_load_timestamp desc
        ) = 1
),
wanted as (
    select
        points.dv_hashkey,
        points.dv_applied_timestamp,
        points.dv_hashdiff,
        coalesce(
            lag(points.dv_hashdiff) over (
                partition by points.dv_hashkey
                order by points.dv_applied_timestamp
            ),
            states_before.dv_hashdiff
        ) as dv_previous_hashdiff
    from points
    left join states_before
        on points.dv_hashkey = states_before.dv_hashkey
),
missing as (
    select
        wanted.dv_hashkey,
        wanted.dv_applied_timestamp,
        wanted.dv_hashdiff
    from wanted
    left join standing
        on wanted.dv_hashkey = standing.dv_hashkey
        and wanted.dv_applied_timestamp = standing.dv_applied_timestamp
    where
        standing.dv_hashdiff <> wanted.dv_hashdiff
        or (standing.dv_hashdiff is null and wanted.dv_hashdiff is distinct from wanted.dv_previous_hashdiff)
),
restored as (
    select
        missing.dv_hashkey,
        missing.dv_applied_timestamp,
        missing.dv_hashdiff
    from missing
    left join staged_states
        on missing.dv_hashkey = staged_states.dv_hashkey
        and missing.dv_applied_timestamp = staged_states.dv_applied_timestamp
        and missing.dv_hashdiff = staged_states.dv_hashdiff
    where staged_states.dv_hashkey is null
),
payloads as (
    select
        known."dv_hashkey_lnk_customer_account" as dv_hashkey,
        known.dv_hashdiff,
        known.dv_tenant_id,
        known.dv_recordsource
        , known."share"
    from "vault"."sat_holding" as known
    where
        known.dv_sid <> 0
        and known.dv_load_timestamp < $load_timestamp
        and known."dv_hashkey_lnk_customer_account" in (select restored.dv_hashkey from restored)
    qualify
        row_number() over (
            partition by known."dv_hashkey_lnk_customer_account", known.dv_hashdiff
            order by known.dv_load_timestamp desc, known.dv_applied_timestamp desc
        ) = 1
)
select
    staged_states.dv_tenant_id,
    missing.dv_hashkey,
    $load_timestamp as dv_load_timestamp,
    missing.dv_applied_timestamp,
    staged_states.dv_recordsource,
    missing.dv_hashdiff,
    nextval('"vault"."seq_sat_holding"') as dv_sid,
    'insert' as dv_xts_event
    , staged_states."share"
from missing
inner join staged_states
    on missing.dv_hashkey = staged_states.dv_hashkey
    and missing.dv_applied_timestamp = staged_states.dv_applied_timestamp
    and missing.dv_hashdiff = staged_states.dv_hashdiff
union all
select
    payloads.dv_tenant_id,
    restored.dv_hashkey,
    $load_timestamp as dv_load_timestamp,
    restored.dv_applied_timestamp,
    payloads.dv_recordsource,
    restored.dv_hashdiff,
    nextval('"vault"."seq_sat_holding"') as dv_sid,
    'copy' as dv_xts_event
    , payloads."share"
from restored
left join payloads
    on restored.dv_hashkey = payloads.dv_hashkey
    and restored.dv_hashdiff = payloads.dv_hashdiff
