-- How many rows a table of the vault holds as known at a load timestamp. Reads only.
select count(*) as row_count
from "VAULT"."HUB_CUSTOMER"
where dv_load_timestamp <= %(load_timestamp)s
