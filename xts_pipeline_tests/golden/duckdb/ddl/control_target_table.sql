-- One row a table of the vault: a step updates its row first, which serialises the writers of a table.
create table if not exists "control"."target_table" (
    target_table varchar not null,
    marked_at timestamp
)
