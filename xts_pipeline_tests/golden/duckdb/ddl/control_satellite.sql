-- What is known of each satellite beside its rows: the source that feeds it, and whether its XTS speaks for it.
create table if not exists "control"."satellite" (
    satellite varchar not null,
    source varchar not null,
    hangs_on varchar not null, -- its parent, and the staged hash key it takes
    xts_assisted boolean not null
)
