-- A link: one row a combination of business keys, with the hash keys of its hubs.
create table if not exists "VAULT"."LNK_CUSTOMER_ACCOUNT" (
    dv_tenant_id varchar(255),
    "DV_HASHKEY_LNK_CUSTOMER_ACCOUNT" binary(32) not null,
    dv_load_timestamp timestamp_ntz(6) not null,
    dv_applied_timestamp timestamp_ntz(6) not null,
    dv_recordsource varchar(255) not null
    , "DV_HASHKEY_HUB_CUSTOMER" binary(32) not null
    , "DV_HASHKEY_HUB_ACCOUNT" binary(32) not null
    , primary key ("DV_HASHKEY_LNK_CUSTOMER_ACCOUNT") not enforced
)
