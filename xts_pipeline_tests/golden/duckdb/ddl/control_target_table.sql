-- One row a table of the vault, on an engine that tells the writers of two rows apart: a step updates its table's row
-- first, which serialises the writers of that table.
create table if not exists "control"."target_table" (
    target_table varchar not null,
    marked_at timestamp
)
