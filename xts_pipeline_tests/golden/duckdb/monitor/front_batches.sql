-- Between which load timestamps the newest batches of a satellite lie, by what they state, and which load was the newest of
-- all. Reads only the ledger, and the facts of batches that hold one of the future.
with
brought as (
    select
        batch.load_timestamp,
        batch.newest_applied_timestamp,
        datediff('microsecond', batch.load_timestamp, batch.newest_applied_timestamp) > 86400000000 as has_future
    from "control"."load_batch" as batch
    inner join "control"."load_step" as step
        on batch.batch_id = step.batch_id
    where
        step.kind = 'xts'
        and step.subject = $satellite
        and step.recorded_at is not null
        and batch.newest_applied_timestamp is not null
),
dated as (
    select
        xts.dv_load_timestamp as load_timestamp,
        max(least(xts.dv_applied_timestamp, xts.dv_load_timestamp)) as heartbeat
    from "vault"."sat_xt_lnk_customer_account" as xts
    where
        xts.dv_rectarget = $record_target
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
        or row_number() over (order by heartbeat desc, load_timestamp desc) <= 1
)
select
    min(front.load_timestamp) as first_load_timestamp,
    max(front.load_timestamp) as last_load_timestamp,
    (select max(stated.load_timestamp) from stated) as newest_load_timestamp
from front
