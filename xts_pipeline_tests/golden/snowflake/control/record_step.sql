-- Ends a step: records what it found and wrote. Touches that step's row.
update "CONTROL"."LOAD_STEP"
set
    verdict = %(verdict)s,
    rows_read = %(rows_read)s,
    keys_read = %(keys_read)s,
    late_rows = %(late_rows)s,
    late_keys = %(late_keys)s,
    corrected_rows = %(corrected_rows)s,
    rows_inserted = %(rows_inserted)s,
    rows_copied = %(rows_copied)s,
    rows_scanned = %(rows_scanned)s,
    milliseconds = %(milliseconds)s,
    recorded_at = %(now)s,
    recorded_by = %(recorded_by)s
where
    batch_id = %(batch_id)s
    and step = %(step)s
