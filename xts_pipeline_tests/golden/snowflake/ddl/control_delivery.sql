-- The deliveries of every partition: one row each time its content was found to be another than before.
create table if not exists "CONTROL"."DELIVERY" (
    source varchar(255) not null,
    partition_key varchar(1024) not null,
    delivery_number bigint not null, -- 1, 2, 3, ... of the partition
    digest varchar(64) not null, -- of the content; of the tick, where a schedule asks a query
    file_state varchar(255), -- what the file system said of the file when it was read
    seen_at timestamp_ntz(6) not null,
    requested_at timestamp_ntz(6), -- when a run was last requested for it: a lease
    requested_by varchar(600), -- the sensor, or the tick of the schedule, that holds the lease
    staged_batch_id varchar(64), -- the batch that it, or a later content of its partition, became
    staged_at timestamp_ntz(6)
)
