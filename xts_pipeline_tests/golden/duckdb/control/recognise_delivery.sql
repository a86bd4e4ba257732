-- Remembers that a file which was written anew holds what it held. Touches the row of that delivery.
update "control"."delivery"
set file_state = $file_state
where
    source = $source
    and partition_key = $partition_key
    and delivery_number = $delivery_number
