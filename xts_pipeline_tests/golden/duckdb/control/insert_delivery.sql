-- Registers a delivery. Inserts one row.
insert into "control"."delivery" (
    source,
    partition_key,
    delivery_number,
    digest,
    file_state,
    seen_at,
    requested_at,
    requested_by,
    staged_batch_id,
    staged_at
)
values (
    $source,
    $partition_key,
    $delivery_number,
    $digest,
    $file_state,
    $seen_at,
    $requested_at,
    $requested_by,
    $staged_batch_id,
    $staged_at
)
