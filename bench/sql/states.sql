-- The state of every key as of one day, as a delivery has it. A key changes on a tenth of the days, each key on days of
-- its own; `changed_on` is the day of its last change, and its columns follow from key and that day alone.
create or replace temporary macro states(keys, d) as table
with
changes as (
    select
        key_numbers.k,
        ((key_numbers.k * 2654435761) % 4294967296) // 65536 as scattered
    from range(keys) as key_numbers (k)
),
dated as (
    select
        k,
        greatest(d - (scattered + d) % 10, 0) as changed_on
    from changes
)
select
    k,
    changed_on,
    'C' || lpad(cast(k as varchar), 9, '0') as customer_id,
    'Customer ' || cast(k as varchar) as name,
    'Street ' || cast((k * 31 + changed_on * 17) % 5000 as varchar) as street,
    'City ' || cast((k + changed_on * 7) % 500 as varchar) as city,
    lpad(cast((k * 13 + changed_on) % 100000 as varchar), 5, '0') as postcode,
    changed_on as tier
from dated
