-- A lock, on an engine that locks a table as a whole: one row, which a writer changes before anything else. There is one
-- for each source, one for each table of the vault that is written to, and one for the deliveries.
create table if not exists "CONTROL"."LOCK_OF_SOURCE_BANK" (
    marked_at timestamp_ntz(6)
)
