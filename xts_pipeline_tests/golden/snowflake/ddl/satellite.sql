-- A satellite: the true changes of its columns, restored states (copy rows) included.
create table if not exists "VAULT"."SAT_HOLDING" (
    dv_tenant_id varchar(255),
    "DV_HASHKEY_LNK_CUSTOMER_ACCOUNT" binary(32) not null,
    dv_load_timestamp timestamp_ntz(6) not null,
    dv_applied_timestamp timestamp_ntz(6) not null,
    dv_recordsource varchar(255) not null,
    dv_hashdiff binary(32) not null,
    dv_sid number(38, 0) not null autoincrement start 1 increment 1 order,
    dv_xts_event varchar(20) -- insert, or copy: a state restored after a late row
    , "SHARE" varchar
    , primary key ("DV_HASHKEY_LNK_CUSTOMER_ACCOUNT", "DV_APPLIED_TIMESTAMP", "DV_LOAD_TIMESTAMP") not enforced
)
