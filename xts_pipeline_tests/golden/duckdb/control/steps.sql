-- The steps of a batch in their order, with what those that are done found and wrote. Reads only.
select
    step,
    step_order,
    kind,
    subject,
    target_table,
    shape,
    xts_assisted,
    verdict,
    rows_read,
    keys_read,
    late_rows,
    late_keys,
    corrected_rows,
    rows_inserted,
    rows_copied,
    rows_scanned,
    milliseconds,
    recorded_at,
    recorded_by
from "control"."load_step"
where batch_id = $batch_id
order by step_order
