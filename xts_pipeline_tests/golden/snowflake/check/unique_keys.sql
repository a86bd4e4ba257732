-- The keys that a table holds more than once, by the columns that must be unique in it (the hash key first), each with its
-- business key. Every row carries the number of all that were found. Reads only: all rows, or those that one batch can
-- have made too many: the rows of its load timestamp where that is one of the columns, else all rows of its keys.
with
failing as (
    select
        "DV_HASHKEY_HUB_CUSTOMER" as dv_hashkey,
        count(*) as dv_rows,
        count(*) over () as dv_found
    from "VAULT"."HUB_CUSTOMER"
    group by
        "DV_HASHKEY_HUB_CUSTOMER"
    having count(*) > 1
    order by
        count(*) desc,
        "DV_HASHKEY_HUB_CUSTOMER"
    limit 20
)
select
    "HUB_0"."CUSTOMER_ID" as "CUSTOMER_ID",
    failing.dv_rows,
    failing.dv_hashkey,
    failing.dv_found
from failing
left join "VAULT"."HUB_CUSTOMER" as "HUB_0"
    on failing.dv_hashkey = "HUB_0"."DV_HASHKEY_HUB_CUSTOMER"
order by
    failing.dv_rows desc,
    failing.dv_hashkey
