-- The batches of one partition of a source, newest first; abandoned ones left out. Reads only.
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
where
    source = $source
    and partition_key = $partition_key
    and status <> 'abandoned'
order by load_timestamp desc
