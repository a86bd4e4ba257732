-- Marks every step of a batch where a lock is a row, so that no step of it can be under way elsewhere. Touches the steps
-- of that batch.
update "control"."load_step"
set marked_at = $now
where batch_id = $batch_id
