-- The normal load of a satellite, for a batch that is in sequence (or a satellite that keeps no XTS): each staged state
-- is compared with the state before it in its batch, and the first with the key's newest state in the satellite.
-- Inserts rows of this batch's load timestamp alone.
insert into "VAULT"."SAT_HOLDING" (
    dv_tenant_id,
    "DV_HASHKEY_LNK_CUSTOMER_ACCOUNT",
    dv_load_timestamp,
    dv_applied_timestamp,
    dv_recordsource,
    dv_hashdiff,
    dv_xts_event
    , "SHARE"
)
with
staged_states as (
    select
        dv_tenant_id,
        "DV_HASHKEY_LNK_CUSTOMER_ACCOUNT" as dv_hashkey,
        dv_applied_timestamp,
        dv_recordsource,
        "DV_HASHDIFF_SAT_HOLDING" as dv_hashdiff
        , "SHARE"
    from "STAGED"."BANK__ROWS"
    where
        dv_batch_id = %(batch_id)s
        and "DV_RECTARGET_SAT_HOLDING" is not null
    qualify
        row_number() over (
            partition by "DV_HASHKEY_LNK_CUSTOMER_ACCOUNT", dv_applied_timestamp, "DV_HASHDIFF_SAT_HOLDING"
            order by
                "SHARE" nulls last
        ) = 1
),
current_states as (
    select
        known."DV_HASHKEY_LNK_CUSTOMER_ACCOUNT" as dv_hashkey,
        known.dv_hashdiff
    from "VAULT"."SAT_HOLDING" as known
    where
        known.dv_sid <> 0
        and known.dv_load_timestamp < %(load_timestamp)s
        and known."DV_HASHKEY_LNK_CUSTOMER_ACCOUNT" in (select staged_states.dv_hashkey from staged_states)
    qualify
        row_number() over (
            partition by known."DV_HASHKEY_LNK_CUSTOMER_ACCOUNT"
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
    %(load_timestamp)s as dv_load_timestamp,
    dv_applied_timestamp,
    dv_recordsource,
    dv_hashdiff,
    'insert' as dv_xts_event
    , "SHARE"
from compared
where dv_hashdiff is distinct from dv_previous_hashdiff
