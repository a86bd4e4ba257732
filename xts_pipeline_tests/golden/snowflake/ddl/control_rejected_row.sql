-- The rows that a source with on_error: quarantine kept out of the vault.
create table if not exists "CONTROL"."REJECTED_ROW" (
    batch_id varchar(64) not null,
    source varchar(255) not null,
    row_number bigint not null, -- the row's place in its delivery, from 1
    reason varchar(16777216) not null,
    row_json varchar(16777216) not null,
    rejected_at timestamp_ntz(6) not null
)
