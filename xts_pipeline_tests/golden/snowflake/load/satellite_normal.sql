-- The normal load of a satellite, for a batch that is in sequence (or a satellite that keeps no XTS): each staged state
-- is compared with the state before it in its batch, and the first with the key's newest state. With `recent_facts` that
-- is the newest fact of the XTS, which says the same, for the keys that have one since `recent_from`; else it is the
-- newest row of the satellite. Inserts rows of this batch's load timestamp alone.
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
        min(dv_row_number) over (partition by "DV_HASHKEY_LNK_CUSTOMER_ACCOUNT") as dv_key_number,
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
        "KNOWN"."DV_HASHDIFF" as dv_hashdiff
    from "VAULT"."SAT_HOLDING" as known
    inner join not_recent
        on known."DV_HASHKEY_LNK_CUSTOMER_ACCOUNT" = not_recent.dv_hashkey
    where
        known.dv_sid <> 0
        and known.dv_load_timestamp < %(load_timestamp)s
    qualify
        row_number() over (
            partition by "NOT_RECENT".dv_key_number
            order by "KNOWN".dv_applied_timestamp desc, "KNOWN".dv_load_timestamp desc
        ) = 1
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
    %(load_timestamp)s as dv_load_timestamp,
    dv_applied_timestamp,
    dv_recordsource,
    dv_hashdiff,
    'insert' as dv_xts_event
    , "SHARE"
from compared
where dv_hashdiff is distinct from dv_previous_hashdiff
