-- How many keys a satellite has, and how many of them none of the newest batches stated. Reads the satellite's keys, and
-- of the XTS only the facts loaded between two stamps.
with
brought as (
    select
        batch.load_timestamp,
        batch.newest_applied_timestamp,
        datediff('microsecond', batch.load_timestamp, batch.newest_applied_timestamp) > 86400000000 as has_future
    from "CONTROL"."LOAD_BATCH" as batch
    inner join "CONTROL"."LOAD_STEP" as step
        on batch.batch_id = step.batch_id
    where
        step.kind = 'xts'
        and step.subject = %(satellite)s
        and step.recorded_at is not null
        and batch.newest_applied_timestamp is not null
),
dated as (
    select
        xts.dv_load_timestamp as load_timestamp,
        max(least(xts.dv_applied_timestamp, xts.dv_load_timestamp)) as heartbeat
    from "VAULT"."SAT_XT_LNK_CUSTOMER_ACCOUNT" as xts
    where
        xts.dv_rectarget = %(record_target)s
        and xts.dv_load_timestamp in (select brought.load_timestamp from brought where brought.has_future)
        and datediff('microsecond', xts.dv_load_timestamp, xts.dv_applied_timestamp) <= 86400000000
    group by xts.dv_load_timestamp
),
stated as (
    select
        brought.load_timestamp,
        case
            when brought.has_future then dated.heartbeat
            else least(brought.newest_applied_timestamp, brought.load_timestamp)
        end as heartbeat
    from brought
    left join dated
        on brought.load_timestamp = dated.load_timestamp
),
front as (
    select
        load_timestamp,
        heartbeat
    from stated
    where heartbeat is not null
    qualify
        rank() over (order by heartbeat desc) = 1
        or row_number() over (order by heartbeat desc, load_timestamp desc) <= 3
),
keys as (
    select distinct "DV_HASHKEY_LNK_CUSTOMER_ACCOUNT" as dv_hashkey
    from "VAULT"."SAT_HOLDING"
    where dv_sid <> 0
),
seen as (
    select distinct xts."DV_HASHKEY_LNK_CUSTOMER_ACCOUNT" as dv_hashkey
    from "VAULT"."SAT_XT_LNK_CUSTOMER_ACCOUNT" as xts
    where
        xts.dv_rectarget = %(record_target)s
        and xts.dv_load_timestamp >= %(first_load_timestamp)s
        and xts.dv_load_timestamp <= %(last_load_timestamp)s
        and xts.dv_load_timestamp in (select front.load_timestamp from front)
)
select
    count(*) as all_keys,
    coalesce(sum(case when seen.dv_hashkey is null then 1 else 0 end), 0) as silent_keys
from keys
left join seen
    on keys.dv_hashkey = seen.dv_hashkey
