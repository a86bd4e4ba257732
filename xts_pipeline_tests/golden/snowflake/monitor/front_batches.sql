-- Between which load timestamps the newest batches of a satellite lie, by what they state, and which load was the newest of
-- all. Reads only the ledger.
with
stated as (
    select
        batch.load_timestamp,
        least(batch.newest_applied_timestamp, batch.load_timestamp) as heartbeat
    from "CONTROL"."LOAD_BATCH" as batch
    inner join "CONTROL"."LOAD_STEP" as step
        on batch.batch_id = step.batch_id
    where
        step.kind = 'xts'
        and step.subject = %(satellite)s
        and step.recorded_at is not null
        and batch.newest_applied_timestamp is not null
),
front as (
    select
        load_timestamp,
        heartbeat
    from stated
    qualify
        rank() over (order by heartbeat desc) = 1
        or row_number() over (order by heartbeat desc, load_timestamp desc) <= 1
)
select
    min(front.load_timestamp) as first_load_timestamp,
    max(front.load_timestamp) as last_load_timestamp,
    (select max(stated.load_timestamp) from stated) as newest_load_timestamp
from front
