-- What a batch wrote to a hub or link. Reads only.
select count(*) as rows_inserted
from "vault"."hub_customer"
where dv_load_timestamp = $load_timestamp
