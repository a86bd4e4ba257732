-- The keys that a table holds more than once, by the columns that must be unique in it (the hash key first), each with its
-- business key. Every row carries the number of all that were found. Reads only: all rows, or those that one batch can
-- have made too many: the rows of its load timestamp where that is one of the columns, else all rows of its keys.
with
failing as (
    select
        "dv_hashkey_hub_customer" as dv_hashkey,
        count(*) as dv_rows,
        count(*) over () as dv_found
    from "vault"."hub_customer"
    group by
        "dv_hashkey_hub_customer"
    having count(*) > 1
    order by
        count(*) desc,
        "dv_hashkey_hub_customer"
    limit 20
)
select
    "hub_0"."customer_id" as "customer_id",
    failing.dv_rows,
    failing.dv_hashkey,
    failing.dv_found
from failing
left join "vault"."hub_customer" as "hub_0"
    on failing.dv_hashkey = "hub_0"."dv_hashkey_hub_customer"
order by
    failing.dv_rows desc,
    failing.dv_hashkey
