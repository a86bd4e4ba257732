-- The deliveries of every partition: one row each time its content was found to be another than before.
create table if not exists "control"."delivery" (
    source varchar not null,
    partition_key varchar not null,
    delivery_number bigint not null, -- 1, 2, 3, ... of the partition
    digest varchar not null, -- of the content; of the tick, where a schedule asks a query
    file_state varchar, -- what the file system said of the file when it was read
    seen_at timestamp not null,
    requested_at timestamp, -- when a run was last requested for it: a lease
    requested_by varchar, -- the sensor, or the tick of the schedule, that holds the lease
    staged_batch_id varchar, -- the batch that it, or a later content of its partition, became
    staged_at timestamp
)
