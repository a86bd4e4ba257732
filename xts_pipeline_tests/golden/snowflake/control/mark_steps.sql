-- Marks every step of a batch, so that no step of it can be under way elsewhere. Touches the steps of that batch.
update "CONTROL"."LOAD_STEP"
set marked_at = %(now)s
where batch_id = %(batch_id)s
