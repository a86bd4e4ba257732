-- Drops statements that have been run. Touches the rows of one making.
delete from "CONTROL"."PENDING_STATEMENT"
where making_id = %(making_id)s
