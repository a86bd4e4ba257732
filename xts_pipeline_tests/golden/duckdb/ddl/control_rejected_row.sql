-- The rows that a source with on_error: quarantine kept out of the vault.
create table if not exists "control"."rejected_row" (
    batch_id varchar not null,
    source varchar not null,
    row_number bigint not null, -- the row's place in its delivery, from 1
    reason varchar not null,
    row_json varchar not null,
    rejected_at timestamp not null
)
