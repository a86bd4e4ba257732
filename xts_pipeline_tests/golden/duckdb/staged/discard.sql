-- Drops the staged rows of a batch that got no stamp. Touches staged rows of that batch.
delete from "staged"."bank__rows"
where dv_batch_id = $batch_id
