-- What is known of each satellite beside its rows: the source that feeds it, and whether its XTS speaks for it.
create table if not exists "CONTROL"."SATELLITE" (
    satellite varchar(255) not null,
    source varchar(255) not null,
    hangs_on varchar(1024) not null, -- its parent, and the staged hash key it takes
    xts_assisted boolean not null
)
