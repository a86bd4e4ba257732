-- Drops the rejected rows of a batch that got no stamp. Touches rejected rows of that batch.
delete from "control"."rejected_row"
where batch_id = $batch_id
