-- Every open batch of the warehouse, oldest first. Reads only.
select
    batch_id,
    source,
    partition_key,
    fingerprint,
    load_timestamp,
    status,
    root_run,
    code_version,
    rows_staged,
    rows_rejected,
    earliest_applied_timestamp,
    newest_applied_timestamp,
    started_at,
    finished_at
from "control"."load_batch"
where status = 'open'
order by load_timestamp
