-- The staged rows of one source, of every batch until it is purged. Invisible in staged.<source> until stamped.
create table if not exists "staged"."bank__rows" (
    dv_batch_id varchar not null,
    dv_row_number bigint not null, -- the row's place in its delivery, from 1
    dv_tenant_id varchar,
    dv_recordsource varchar not null,
    dv_applied_timestamp timestamp not null
)
