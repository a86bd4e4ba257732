-- Closes a batch whose last step is recorded. Touches that batch's row, if it is open and no step is left.
update "control"."load_batch"
set
    status = 'done',
    finished_at = $now
where
    batch_id = $batch_id
    and status = 'open'
    and not exists (
        select 1
        from "control"."load_step" as step
        where
            step.batch_id = $batch_id
            and step.recorded_at is null
    )
