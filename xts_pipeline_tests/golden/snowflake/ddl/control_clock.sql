-- The clock of the warehouse: one row that holds the newest load timestamp given. Every stamp changes it first, which
-- lets one writer at a time give a stamp.
create table if not exists "CONTROL"."CLOCK" (
    newest_load_timestamp timestamp_ntz(6),
    stamps_begun bigint not null
)
