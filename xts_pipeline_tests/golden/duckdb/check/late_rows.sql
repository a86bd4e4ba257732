-- The batches that brought late rows to a satellite without XTS, which nothing puts in their place: counted by its load
-- step, newest first. Every row carries the number of all late rows. Reads only: one batch's step, or all.
select
    batch.partition_key as dv_partition_key,
    step.late_rows as dv_late_rows,
    step.late_keys as dv_late_keys,
    step.rows_read as dv_rows_read,
    batch.load_timestamp as dv_load_timestamp,
    batch.batch_id as dv_batch_id,
    sum(step.late_rows) over () as dv_found
from "control"."load_step" as step
inner join "control"."load_batch" as batch
    on step.batch_id = batch.batch_id
where
    step.step = $step
    and step.late_rows > 0
    and batch.source = $source
order by batch.load_timestamp desc
limit 20
