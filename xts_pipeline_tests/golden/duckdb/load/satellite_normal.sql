-- The normal load of a satellite, for a batch that is in sequence (or a satellite that keeps no XTS): each staged state
-- is compared with the state before it in its batch, and the first with the key's newest state in the satellite.
-- Inserts rows of this batch's load timestamp alone.
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
current_states as (
    select
        known."dv_hashkey_lnk_customer_account" as dv_hashkey,
        known.dv_hashdiff
    from "vault"."sat_holding" as known
    where
        known.dv_sid <> 0
        and known.dv_load_timestamp < $load_timestamp
        and known."dv_hashkey_lnk_customer_account" in (select staged_states.dv_hashkey from staged_states)
    qualify
        row_number() over (
            partition by known."dv_hashkey_lnk_customer_account"
            order by known.dv_applied_timestamp desc, known.dv_load_timestamp desc
        ) = 1
),
compared as (
    select
        staged_states.*,
        coalesce(
            lag(staged_states.dv_hashdiff) over (
                partition by staged_states.dv_hashkey
                order by staged_states.dv_applied_timestamp
            ),
            current_states.dv_hashdiff
        ) as dv_previous_hashdiff
    from staged_states
    left join current_states
        on staged_states.dv_hashkey = current_states.dv_hashkey
)
select
    dv_tenant_id,
    dv_hashkey,
    $load_timestamp as dv_load_timestamp,
    dv_applied_timestamp,
    dv_recordsource,
    dv_hashdiff,
    nextval('"vault"."seq_sat_holding"') as dv_sid,
    'insert' as dv_xts_event
    , "share"
from compared
where dv_hashdiff is distinct from dv_previous_hashdiff
