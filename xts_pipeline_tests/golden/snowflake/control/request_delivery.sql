-- Takes the lease of a delivery: a run is about to be requested for it. Touches the row of that delivery.
update "CONTROL"."DELIVERY"
set
    requested_at = %(requested_at)s,
    requested_by = %(requested_by)s
where
    source = %(source)s
    and partition_key = %(partition_key)s
    and delivery_number = %(delivery_number)s
