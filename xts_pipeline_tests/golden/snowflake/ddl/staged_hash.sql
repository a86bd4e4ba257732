-- Adds a hash key or hashdiff column to the staged rows of a source; older rows keep NULL in it.
alter table "STAGED"."BANK__ROWS" add column if not exists "DV_HASHKEY_HUB_CUSTOMER" binary(32)
