-- How many rows of a table of the vault came with each load timestamp. Reads only.
select
    dv_load_timestamp,
    count(*) as row_count
from "vault"."hub_customer"
group by dv_load_timestamp
order by dv_load_timestamp
