-- Takes the lease of a delivery: a run is about to be requested for it. Touches the row of that delivery.
update "control"."delivery"
set
    requested_at = $requested_at,
    requested_by = $requested_by
where
    source = $source
    and partition_key = $partition_key
    and delivery_number = $delivery_number
