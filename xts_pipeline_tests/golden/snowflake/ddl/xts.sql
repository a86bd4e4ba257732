-- The extended record tracking satellite of one hub or link: every staged hashdiff of its satellites, unchanged ones
-- included. It has no ghost record.
create table if not exists "VAULT"."SAT_XT_LNK_CUSTOMER_ACCOUNT" (
    dv_tenant_id varchar(255),
    "DV_HASHKEY_LNK_CUSTOMER_ACCOUNT" binary(32) not null,
    dv_load_timestamp timestamp_ntz(6) not null,
    dv_applied_timestamp timestamp_ntz(6) not null,
    dv_recordsource varchar(255) not null,
    dv_hashdiff binary(32) not null,
    dv_rectarget varchar(255) not null,
    dv_sequence_violation boolean not null
    , primary key ("DV_HASHKEY_LNK_CUSTOMER_ACCOUNT", "DV_RECTARGET", "DV_APPLIED_TIMESTAMP", "DV_LOAD_TIMESTAMP", "DV_HASHDIFF") not enforced
)
