-- How many rows a batch has and what its applied timestamps span. Reads only.
select
    count(*) as rows_staged,
    min(dv_applied_timestamp) as earliest_applied_timestamp,
    max(dv_applied_timestamp) as newest_applied_timestamp
from "staged"."bank__rows"
where dv_batch_id = $batch_id
