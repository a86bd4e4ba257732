-- Writes a batch into the ledger, with its stamp. Inserts one row.
insert into "CONTROL"."LOAD_BATCH" (
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
    %(batch_id)s,
    %(source)s,
    %(partition_key)s,
    %(fingerprint)s,
    %(load_timestamp)s,
    %(status)s,
    %(root_run)s,
    %(code_version)s,
    %(rows_staged)s,
    %(rows_rejected)s,
    %(earliest_applied_timestamp)s,
    %(newest_applied_timestamp)s,
    %(started_at)s,
    %(finished_at)s
)
