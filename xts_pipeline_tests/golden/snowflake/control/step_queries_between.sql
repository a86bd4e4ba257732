-- The queries of the steps of the batches of one source that were stamped between two times. Reads only.
select
    step_query.batch_id,
    step_query.step,
    step_query.queries
from "CONTROL"."STEP_QUERY" as step_query
inner join "CONTROL"."LOAD_BATCH" as load_batch
    on load_batch.batch_id = step_query.batch_id
where
    load_batch.source = %(source)s
    and load_batch.load_timestamp >= %(since)s
    and load_batch.load_timestamp <= %(until)s
order by load_batch.load_timestamp, step_query.step
