-- What a batch wrote to a satellite. Reads only.
select
    coalesce(sum(case when dv_xts_event = 'insert' then 1 else 0 end), 0) as rows_inserted,
    coalesce(sum(case when dv_xts_event = 'copy' then 1 else 0 end), 0) as rows_copied
from "vault"."sat_holding"
where dv_load_timestamp = $load_timestamp
