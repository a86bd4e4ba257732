-- The extended record tracking satellite of one hub or link: every staged hashdiff of its satellites, unchanged ones
-- included. It has no ghost record.
create table if not exists "vault"."sat_xt_lnk_customer_account" (
    dv_tenant_id varchar,
    "dv_hashkey_lnk_customer_account" blob using compression uncompressed not null,
    dv_load_timestamp timestamp not null,
    dv_applied_timestamp timestamp not null,
    dv_recordsource varchar not null,
    dv_hashdiff blob not null,
    dv_rectarget varchar not null,
    dv_sequence_violation boolean not null
)
