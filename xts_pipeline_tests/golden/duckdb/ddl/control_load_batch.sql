-- The ledger of batches: one row a stamped batch.
create table if not exists "control"."load_batch" (
    batch_id varchar not null,
    source varchar not null,
    partition_key varchar not null,
    fingerprint varchar not null,
    load_timestamp timestamp not null,
    status varchar not null, -- open, done or abandoned
    root_run varchar,
    code_version varchar not null,
    rows_staged bigint not null,
    rows_rejected bigint not null,
    earliest_applied_timestamp timestamp,
    newest_applied_timestamp timestamp,
    started_at timestamp not null,
    finished_at timestamp
)
