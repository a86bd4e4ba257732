-- The XTS-assisted load of a satellite: puts late rows in their place and restores the states after them.
-- The points (applied timestamps) of a key that can change are the staged ones and the points that follow them. The
-- wanted hashdiff of a staged point is the staged one, whose load is the greatest; that of any other point is the fact
-- there with the greatest load. A row is written at a point when
--   1. the satellite has a row there and its winning hashdiff is not the wanted one (a correction), or
--   2. it has none there and the wanted hashdiff differs from the wanted one of the point before.
-- Its payload is the batch's own at a staged point (insert), else that of the key's row of the same hashdiff with the
-- greatest load, then applied timestamp (copy). A wanted state that no row has fails on dv_recordsource, which is not
-- null, rather than being lost.
-- The XTS is read after the earliest staged point; the state before that one is read from the satellite. Payloads are
-- joined by key, applied and load timestamp; with `one_row_a_key` a key has one row to restore at most, and the timestamps
-- are asked for as ranges, so that DuckDB hashes the key alone and skips rows of other keys as it scans. Inserts rows of
-- this batch's load timestamp alone.
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
        min(dv_row_number) over (partition by "dv_hashkey_lnk_customer_account") as dv_key_number,
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
        dv_key_number,
        min(dv_applied_timestamp) as earliest_applied_timestamp
    from staged_states
    group by dv_hashkey, dv_key_number
),
known_states as (
    select
        touched.dv_key_number,
        touched.earliest_applied_timestamp,
        known.dv_applied_timestamp,
        known.dv_load_timestamp,
        known.dv_hashdiff
    from "vault"."sat_holding" as known
    inner join touched
        on known."dv_hashkey_lnk_customer_account" = touched.dv_hashkey
    where
        known.dv_sid <> 0
        and known.dv_load_timestamp < $load_timestamp
),
states_before as (
    select
        known_states.dv_key_number,
        arg_max(
            "known_states"."dv_hashdiff",
            cast(epoch_us("known_states".dv_applied_timestamp) as hugeint) * 1000000000000000000
            + epoch_us("known_states".dv_load_timestamp)
        ) as dv_hashdiff
    from known_states
    where known_states.dv_applied_timestamp < known_states.earliest_applied_timestamp
    group by "known_states".dv_key_number
),
points_after as (
    select
        touched.dv_key_number,
        xts.dv_applied_timestamp,
        xts.dv_hashdiff
    from "vault"."sat_xt_lnk_customer_account" as xts
    inner join touched
        on xts."dv_hashkey_lnk_customer_account" = touched.dv_hashkey
        and xts.dv_applied_timestamp > touched.earliest_applied_timestamp
    where
        xts.dv_rectarget = $record_target
        and xts.dv_load_timestamp < $load_timestamp
        and xts.dv_applied_timestamp > $earliest_applied_timestamp
    qualify
        row_number() over (
            partition by touched.dv_key_number, xts.dv_applied_timestamp
            order by xts.dv_load_timestamp desc
        ) = 1
),
points as (
    select
        dv_key_number,
        dv_applied_timestamp,
        dv_hashdiff,
        true as is_staged
    from staged_states
    union all
    select
        points_after.dv_key_number,
        points_after.dv_applied_timestamp,
        points_after.dv_hashdiff,
        false as is_staged
    from points_after
    left join staged_states
        on points_after.dv_key_number = staged_states.dv_key_number
        and points_after.dv_applied_timestamp = staged_states.dv_applied_timestamp
    where staged_states.dv_key_number is null
),
wanted as (
    select
        points.dv_key_number,
        points.dv_applied_timestamp,
        points.dv_hashdiff,
        points.is_staged,
        coalesce(
            lag(points.dv_hashdiff) over (
                partition by points.dv_key_number
                order by points.dv_applied_timestamp
            ),
            states_before.dv_hashdiff
        ) as dv_previous_hashdiff
    from points
    left join states_before
        on points.dv_key_number = states_before.dv_key_number
),
standing as (
    select
        known_states.dv_key_number,
        known_states.dv_applied_timestamp,
        known_states.dv_hashdiff
    from known_states
    inner join points
        on known_states.dv_key_number = points.dv_key_number
        and known_states.dv_applied_timestamp = points.dv_applied_timestamp
    qualify
        row_number() over (
            partition by known_states.dv_key_number, known_states.dv_applied_timestamp
            order by known_states.dv_load_timestamp desc
        ) = 1
),
missing as (
    select
        wanted.dv_key_number,
        wanted.dv_applied_timestamp,
        wanted.dv_hashdiff,
        wanted.is_staged
    from wanted
    left join standing
        on wanted.dv_key_number = standing.dv_key_number
        and wanted.dv_applied_timestamp = standing.dv_applied_timestamp
    where
        standing.dv_hashdiff <> wanted.dv_hashdiff
        or (standing.dv_hashdiff is null and wanted.dv_hashdiff is distinct from wanted.dv_previous_hashdiff)
),
restored as (
    select
        touched.dv_hashkey,
        missing.dv_key_number,
        missing.dv_applied_timestamp,
        missing.dv_hashdiff
    from missing
    inner join touched
        on missing.dv_key_number = touched.dv_key_number
    where not missing.is_staged
),
origins as (
    select
        restored.dv_hashkey,
        restored.dv_key_number,
        restored.dv_applied_timestamp,
        known_states.dv_applied_timestamp as origin_applied_timestamp,
        known_states.dv_load_timestamp as origin_load_timestamp
    from restored
    inner join known_states
        on restored.dv_key_number = known_states.dv_key_number
        and restored.dv_hashdiff = known_states.dv_hashdiff
    qualify
        row_number() over (
            partition by restored.dv_key_number, restored.dv_applied_timestamp
            order by known_states.dv_load_timestamp desc, known_states.dv_applied_timestamp desc
        ) = 1
),
payloads as (
    select
        origins.dv_key_number,
        origins.dv_applied_timestamp,
        known.dv_tenant_id,
        known.dv_recordsource
        , known."share"
    from "vault"."sat_holding" as known
    inner join origins
        on known."dv_hashkey_lnk_customer_account" = origins.dv_hashkey
        and known.dv_applied_timestamp = origins.origin_applied_timestamp
        and known.dv_load_timestamp = origins.origin_load_timestamp
    where known.dv_sid <> 0
),
written as (
    select
        staged_states.dv_tenant_id,
        staged_states.dv_hashkey,
        missing.dv_applied_timestamp,
        staged_states.dv_recordsource,
        missing.dv_hashdiff,
        'insert' as dv_xts_event
        , staged_states."share"
    from missing
    inner join staged_states
        on missing.dv_key_number = staged_states.dv_key_number
        and missing.dv_applied_timestamp = staged_states.dv_applied_timestamp
    where missing.is_staged
    union all
    select
        payloads.dv_tenant_id,
        restored.dv_hashkey,
        restored.dv_applied_timestamp,
        payloads.dv_recordsource,
        restored.dv_hashdiff,
        'copy' as dv_xts_event
        , payloads."share"
    from restored
    left join payloads
        on restored.dv_key_number = payloads.dv_key_number
        and restored.dv_applied_timestamp = payloads.dv_applied_timestamp
)
select
    dv_tenant_id,
    dv_hashkey,
    $load_timestamp as dv_load_timestamp,
    dv_applied_timestamp,
    dv_recordsource,
    dv_hashdiff,
    (
        select coalesce(max(numbered.dv_sid), 0)
        from "vault"."sat_holding" as numbered
    ) + row_number() over () as dv_sid,
    dv_xts_event
    , "share"
from written
