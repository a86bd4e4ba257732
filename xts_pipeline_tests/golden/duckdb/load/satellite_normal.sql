-- The normal load of a satellite, for a batch that is in sequence (or a satellite that keeps no XTS): each staged state
-- is compared with the state before it in its batch, and the first with the key's newest state. With `recent_facts` that
-- is the newest fact of the XTS, which says the same, for the keys that have one since `recent_from`; else it is the
-- newest row of the satellite. Inserts rows of this batch's load timestamp alone.
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
not_recent as (
    select
        touched.dv_hashkey,
        touched.dv_key_number
    from touched
),
older_states as (
    select
        not_recent.dv_key_number,
        arg_max(
            "known"."dv_hashdiff",
            cast(epoch_us("known".dv_applied_timestamp) as hugeint) * 1000000000000000000
            + epoch_us("known".dv_load_timestamp)
        ) as dv_hashdiff
    from "vault"."sat_holding" as known
    inner join not_recent
        on known."dv_hashkey_lnk_customer_account" = not_recent.dv_hashkey
    where
        known.dv_sid <> 0
        and known.dv_load_timestamp < $load_timestamp
    group by "not_recent".dv_key_number
),
newest_states as (
    select
        dv_key_number,
        dv_hashdiff
    from older_states
),
compared as (
    select
        staged_states.*,
        coalesce(
            lag(staged_states.dv_hashdiff) over (
                partition by staged_states.dv_key_number
                order by staged_states.dv_applied_timestamp
            ),
            newest_states.dv_hashdiff
        ) as dv_previous_hashdiff
    from staged_states
    left join newest_states
        on staged_states.dv_key_number = newest_states.dv_key_number
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
    'insert' as dv_xts_event
    , "share"
from compared
where dv_hashdiff is distinct from dv_previous_hashdiff
