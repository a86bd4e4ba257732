-- The queries of the steps of a batch. Reads only.
select
    step,
    queries
from "CONTROL"."STEP_QUERY"
where batch_id = %(batch_id)s
order by step
