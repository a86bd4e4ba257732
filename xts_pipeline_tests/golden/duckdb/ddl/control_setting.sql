-- What the whole vault is made with and can never change: the hash algorithm.
create table if not exists "control"."setting" (
    name varchar not null,
    value varchar not null
)
