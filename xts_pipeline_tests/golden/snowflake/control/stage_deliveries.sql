-- Records that a partition was staged: none of its deliveries so far waits any more. Touches those that did.
update "CONTROL"."DELIVERY"
set
    staged_batch_id = %(staged_batch_id)s,
    staged_at = %(staged_at)s
where
    source = %(source)s
    and partition_key = %(partition_key)s
    and delivery_number <= %(delivery_number)s
    and staged_at is null
