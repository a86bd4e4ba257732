-- How many rows a table of the vault holds, and when it learned the newest; the ghost of a satellite left out. Reads only.
select
    count(*) as row_count,
    max(dv_load_timestamp) as newest_load_timestamp
from "vault"."sat_holding"
where dv_sid <> 0
