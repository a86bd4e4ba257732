-- Drops the rejected rows of a batch that got no stamp. Touches rejected rows of that batch.
delete from "CONTROL"."REJECTED_ROW"
where batch_id = %(batch_id)s
