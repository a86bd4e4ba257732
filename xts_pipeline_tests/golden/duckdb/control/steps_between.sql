-- The steps of the batches of one source that were stamped between two times, those of a batch in their order, with what
-- those that are done found and wrote. Reads only.
select
    load_step.batch_id,
    load_step.step,
    load_step.step_order,
    load_step.kind,
    load_step.subject,
    load_step.target_table,
    load_step.shape,
    load_step.xts_assisted,
    load_step.verdict,
    load_step.rows_read,
    load_step.keys_read,
    load_step.late_rows,
    load_step.late_keys,
    load_step.corrected_rows,
    load_step.rows_inserted,
    load_step.rows_copied,
    load_step.rows_scanned,
    load_step.milliseconds,
    load_step.recorded_at,
    load_step.recorded_by
from "control"."load_step" as load_step
inner join "control"."load_batch" as load_batch
    on load_batch.batch_id = load_step.batch_id
where
    load_batch.source = $source
    and load_batch.load_timestamp >= $since
    and load_batch.load_timestamp <= $until
order by load_batch.load_timestamp, load_step.step_order
