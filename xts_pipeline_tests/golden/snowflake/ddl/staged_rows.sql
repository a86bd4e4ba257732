-- The staged rows of one source, of every batch until it is purged. Invisible in staged.<source> until stamped.
create transient table if not exists "STAGED"."BANK__ROWS" (
    dv_batch_id varchar(64) not null,
    dv_row_number bigint not null, -- the row's place in its delivery, from 1
    dv_tenant_id varchar(255),
    dv_recordsource varchar(255) not null,
    dv_applied_timestamp timestamp_ntz(6) not null
)
