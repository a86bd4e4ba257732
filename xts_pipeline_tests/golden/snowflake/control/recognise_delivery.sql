-- Remembers that a file which was written anew holds what it held. Touches the row of that delivery.
update "CONTROL"."DELIVERY"
set file_state = %(file_state)s
where
    source = %(source)s
    and partition_key = %(partition_key)s
    and delivery_number = %(delivery_number)s
