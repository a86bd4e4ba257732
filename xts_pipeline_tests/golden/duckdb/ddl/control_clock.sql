-- The clock of the warehouse: one row that holds the newest load timestamp given. Every stamp changes it first, which
-- lets one writer at a time give a stamp.
create table if not exists "control"."clock" (
    newest_load_timestamp timestamp,
    stamps_begun bigint not null
)
