-- Marks a batch abandoned: not open, no replay target, refused by every step. Touches that batch's row.
update "control"."load_batch"
set
    status = 'abandoned',
    finished_at = $now
where
    batch_id = $batch_id
    and status = 'open'
