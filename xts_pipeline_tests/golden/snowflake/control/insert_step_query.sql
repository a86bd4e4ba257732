-- Records the queries of a step. Inserts one row.
insert into "CONTROL"."STEP_QUERY" (batch_id, step, queries)
values (%(batch_id)s, %(step)s, %(queries)s)
