-- Ends a step: records what it found and wrote. Touches that step's row.
update "control"."load_step"
set
    verdict = $verdict,
    rows_read = $rows_read,
    keys_read = $keys_read,
    late_rows = $late_rows,
    late_keys = $late_keys,
    corrected_rows = $corrected_rows,
    rows_inserted = $rows_inserted,
    rows_copied = $rows_copied,
    rows_scanned = $rows_scanned,
    milliseconds = $milliseconds,
    recorded_at = $now,
    recorded_by = $recorded_by
where
    batch_id = $batch_id
    and step = $step
