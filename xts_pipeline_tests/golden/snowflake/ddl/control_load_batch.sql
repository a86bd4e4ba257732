-- The ledger of batches: one row a stamped batch.
create table if not exists "CONTROL"."LOAD_BATCH" (
    batch_id varchar(64) not null,
    source varchar(255) not null,
    partition_key varchar(1024) not null,
    fingerprint varchar(64) not null,
    load_timestamp timestamp_ntz(6) not null,
    status varchar(16) not null, -- open, done or abandoned
    root_run varchar(255),
    code_version varchar(64) not null,
    rows_staged bigint not null,
    rows_rejected bigint not null,
    earliest_applied_timestamp timestamp_ntz(6),
    newest_applied_timestamp timestamp_ntz(6),
    started_at timestamp_ntz(6) not null,
    finished_at timestamp_ntz(6)
)
