-- Begins a step: two writers of one step are serialised by its row. Touches that row.
update "CONTROL"."LOAD_STEP"
set marked_at = %(now)s
where
    batch_id = %(batch_id)s
    and step = %(step)s
