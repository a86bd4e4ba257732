-- A satellite: the true changes of its columns, restored states (copy rows) included.
create table if not exists "vault"."sat_holding" (
    dv_tenant_id varchar,
    "dv_hashkey_lnk_customer_account" blob using compression uncompressed not null,
    dv_load_timestamp timestamp not null,
    dv_applied_timestamp timestamp not null,
    dv_recordsource varchar not null,
    dv_hashdiff blob not null,
    dv_sid bigint not null,
    dv_xts_event varchar -- insert, or copy: a state restored after a late row
    , "share" varchar
)
