-- One day's batch in the ledger, done.
insert into control.load_batch (
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
)
select
    'day ' || $day as batch_id,
    'bench' as source,
    'day ' || $day as partition_key,
    '' as fingerprint,
    $load_timestamp as load_timestamp,
    'done' as status,
    null as root_run,
    'bench' as code_version,
    $keys as rows_staged,
    0 as rows_rejected,
    $applied_timestamp as earliest_applied_timestamp,
    $applied_timestamp as newest_applied_timestamp,
    $load_timestamp as started_at,
    $load_timestamp as finished_at
