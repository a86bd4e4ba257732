-- Records that a partition was staged: none of its deliveries so far waits any more. Touches those that did.
update "control"."delivery"
set
    staged_batch_id = $staged_batch_id,
    staged_at = $staged_at
where
    source = $source
    and partition_key = $partition_key
    and delivery_number <= $delivery_number
    and staged_at is null
