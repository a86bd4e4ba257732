-- Adds a hash key or hashdiff column to the staged rows of a source; older rows keep NULL in it.
alter table "staged"."bank__rows" add column if not exists "dv_hashkey_hub_customer" blob using compression uncompressed
