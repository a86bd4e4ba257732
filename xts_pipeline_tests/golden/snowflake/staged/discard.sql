-- Drops the staged rows of a batch that got no stamp. Touches staged rows of that batch.
delete from "STAGED"."BANK__ROWS"
where dv_batch_id = %(batch_id)s
