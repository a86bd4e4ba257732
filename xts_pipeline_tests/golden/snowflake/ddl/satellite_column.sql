-- Adds a column that the declaration has and the satellite has not yet; rows there are keep NULL in it.
alter table "VAULT"."SAT_ADDRESS" add column if not exists "CITY" varchar
