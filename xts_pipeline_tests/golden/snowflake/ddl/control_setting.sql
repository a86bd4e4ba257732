-- What the whole vault is made with and can never change: the hash algorithm.
create table if not exists "CONTROL"."SETTING" (
    name varchar(512) not null,
    value varchar(1024) not null
)
