-- The delivery of a day of the history: every key, changed or not.
select
    customer_id,
    $applied_timestamp as applied,
    name,
    street,
    city,
    postcode,
    tier
from states($keys, $day)
