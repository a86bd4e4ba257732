-- A hub: one row a business key.
create table if not exists "vault"."hub_customer" (
    dv_tenant_id varchar,
    "dv_hashkey_hub_customer" blob using compression uncompressed not null,
    dv_load_timestamp timestamp not null,
    dv_applied_timestamp timestamp not null,
    dv_recordsource varchar not null
    , "customer_id" varchar
)
