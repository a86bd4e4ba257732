-- What a batch wrote to a hub or link. Reads only.
select count(*) as rows_inserted
from "VAULT"."HUB_CUSTOMER"
where dv_load_timestamp = %(load_timestamp)s
