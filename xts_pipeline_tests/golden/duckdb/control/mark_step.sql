-- Begins a step where a lock is a row (control/take_lock where it is a table): two writers of one step are serialised by
-- its row. Touches that row.
update "control"."load_step"
set marked_at = $now
where
    batch_id = $batch_id
    and step = $step
