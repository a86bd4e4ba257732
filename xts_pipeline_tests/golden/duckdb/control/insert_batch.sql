-- Writes a batch into the ledger, with its stamp. Inserts one row.
insert into "control"."load_batch" (
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
values (
    $batch_id,
    $source,
    $partition_key,
    $fingerprint,
    $load_timestamp,
    $status,
    $root_run,
    $code_version,
    $rows_staged,
    $rows_rejected,
    $earliest_applied_timestamp,
    $newest_applied_timestamp,
    $started_at,
    $finished_at
)
