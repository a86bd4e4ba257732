-- A delivery to be measured: every $every-th key, each in a state it never had; the first $stray of them apart from the
-- rest in time.
select
    customer_id,
    case when row_number() over (order by k) <= $stray then $stray_applied else $applied_timestamp end as applied,
    name,
    street,
    city,
    postcode,
    $tier as tier
from states($keys, $day)
where k % $every = 3
order by k
