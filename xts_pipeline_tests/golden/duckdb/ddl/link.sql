-- A link: one row a combination of business keys, with the hash keys of its hubs.
create table if not exists "vault"."lnk_customer_account" (
    dv_tenant_id varchar,
    "dv_hashkey_lnk_customer_account" blob using compression uncompressed not null,
    dv_load_timestamp timestamp not null,
    dv_applied_timestamp timestamp not null,
    dv_recordsource varchar not null
    , "dv_hashkey_hub_customer" blob not null
    , "dv_hashkey_hub_account" blob not null
)
