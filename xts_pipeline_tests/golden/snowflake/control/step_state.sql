-- One step of a batch as it stands: whether it is recorded, whether its batch was abandoned, what the SWITCH of its
-- satellite found, whether the facts it needs are in the XTS, and which older open batch of the source has the same step
-- still to do. Reads only.
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
    asked.recorded_at as asked_at,
    asked.verdict as asked_verdict,
    asked.rows_read as asked_rows_read,
    asked.keys_read as asked_keys_read,
    asked.late_rows as asked_late_rows,
    asked.late_keys as asked_late_keys,
    asked.corrected_rows as asked_corrected_rows,
    (
        select count(*)
        from "CONTROL"."LOAD_STEP" as logged
        where
            logged.batch_id = %(batch_id)s
            and logged.step = %(xts_step)s
            and logged.recorded_at is not null
    ) as facts_logged,
    (
        select min(older.batch_id)
        from "CONTROL"."LOAD_BATCH" as older
        inner join "CONTROL"."LOAD_STEP" as waiting
            on older.batch_id = waiting.batch_id
        where
            older.source = %(source)s
            and older.status = 'open'
            and older.load_timestamp < %(load_timestamp)s
            and waiting.step = %(step)s
            and waiting.recorded_at is null
    ) as waiting_batch
from "CONTROL"."LOAD_STEP" as step
inner join "CONTROL"."LOAD_BATCH" as batch
    on step.batch_id = batch.batch_id
left join "CONTROL"."LOAD_STEP" as asked
    on asked.batch_id = %(batch_id)s
    and asked.step = %(switch_step)s
where
    step.batch_id = %(batch_id)s
    and step.step = %(step)s
