-- One row a table of the vault: a step updates its row first, which serialises the writers of a table.
create table if not exists "CONTROL"."TARGET_TABLE" (
    target_table varchar(512) not null,
    marked_at timestamp_ntz(6)
)
