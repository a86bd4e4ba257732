MODEL (
    name bench.customer,
    kind SCD_TYPE_2_BY_TIME (
        unique_key customer_id,
        updated_at_name applied
    ),
    cron '@daily'
);

select
    customer_id::text as customer_id,
    applied::timestamp as applied,
    name::text as name,
    street::text as street,
    city::text as city,
    postcode::text as postcode,
    tier::int as tier
from main.delivered
