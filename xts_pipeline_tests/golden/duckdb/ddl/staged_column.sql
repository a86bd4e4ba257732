-- Adds a business or record target column to the staged rows of a source; older rows keep NULL in it.
alter table "staged"."bank__rows" add column if not exists "customer_id" varchar
