-- Closes a batch whose last step is recorded. Touches that batch's row, if it is open and no step is left.
update "CONTROL"."LOAD_BATCH"
set
    status = 'done',
    finished_at = %(now)s
where
    batch_id = %(batch_id)s
    and status = 'open'
    and not exists (
        select 1
        from "CONTROL"."LOAD_STEP" as step
        where
            step.batch_id = %(batch_id)s
            and step.recorded_at is null
    )
