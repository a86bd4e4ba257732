-- Marks a batch abandoned: not open, no replay target, refused by every step. Touches that batch's row.
update "CONTROL"."LOAD_BATCH"
set
    status = 'abandoned',
    finished_at = %(now)s
where
    batch_id = %(batch_id)s
    and status = 'open'
