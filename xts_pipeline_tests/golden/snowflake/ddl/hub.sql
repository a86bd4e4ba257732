-- A hub: one row a business key.
create table if not exists "VAULT"."HUB_CUSTOMER" (
    dv_tenant_id varchar(255),
    "DV_HASHKEY_HUB_CUSTOMER" binary(32) not null,
    dv_load_timestamp timestamp_ntz(6) not null,
    dv_applied_timestamp timestamp_ntz(6) not null,
    dv_recordsource varchar(255) not null
    , "CUSTOMER_ID" varchar
    , primary key ("DV_HASHKEY_HUB_CUSTOMER") not enforced
)
