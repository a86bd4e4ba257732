-- Adds a column that the declaration has and the satellite has not yet; rows there are keep NULL in it.
alter table "vault"."sat_address" add column if not exists "city" varchar
