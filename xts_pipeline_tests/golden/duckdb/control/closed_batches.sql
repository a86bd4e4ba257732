-- The batches of one source that were closed between two times, oldest first: what a run of that time has loaded, whoever
-- had staged it. Reads only.
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
    and status = 'done'
    and finished_at >= $since
    and finished_at <= $until
order by load_timestamp
