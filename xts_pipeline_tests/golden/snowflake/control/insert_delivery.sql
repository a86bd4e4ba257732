-- Registers a delivery. Inserts one row.
insert into "CONTROL"."DELIVERY" (
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
    %(source)s,
    %(partition_key)s,
    %(delivery_number)s,
    %(digest)s,
    %(file_state)s,
    %(seen_at)s,
    %(requested_at)s,
    %(requested_by)s,
    %(staged_batch_id)s,
    %(staged_at)s
)
