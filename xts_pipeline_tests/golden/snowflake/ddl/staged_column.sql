-- Adds a business or record target column to the staged rows of a source; older rows keep NULL in it.
alter table "STAGED"."BANK__ROWS" add column if not exists "CUSTOMER_ID" varchar
