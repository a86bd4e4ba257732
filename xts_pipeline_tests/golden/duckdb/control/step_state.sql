-- One step of a batch as it stands, with the SWITCH and the XTS insert of its satellite: whether they are recorded and what
-- they found, whether the batch was abandoned, and which older open batch of the source has the same step still to do.
-- Reads only.
select
    step.step,
    step.step_order,
    step.kind,
    step.subject,
    step.target_table,
    step.shape,
    step.xts_assisted,
    step.verdict,
    step.rows_read,
    step.keys_read,
    step.late_rows,
    step.late_keys,
    step.corrected_rows,
    step.rows_inserted,
    step.rows_copied,
    step.rows_scanned,
    step.milliseconds,
    step.recorded_at,
    step.recorded_by,
    batch.status as batch_status,
    (
        select min(older.batch_id)
        from "control"."load_batch" as older
        inner join "control"."load_step" as waiting
            on older.batch_id = waiting.batch_id
        where
            older.source = $source
            and older.status = 'open'
            and older.load_timestamp < $load_timestamp
            and waiting.step = $step
            and waiting.recorded_at is null
    ) as waiting_batch
from "control"."load_step" as step
inner join "control"."load_batch" as batch
    on step.batch_id = batch.batch_id
where
    step.batch_id = $batch_id
    and step.step in ($step, $switch_step, $xts_step)
