-- The open batches of a source, the oldest first; a batch that is asked about is left out. Every row carries the number of
-- all that are there. Reads only the ledger.
select
    partition_key as dv_partition_key,
    started_at as dv_started_at,
    load_timestamp as dv_load_timestamp,
    root_run as dv_root_run,
    batch_id as dv_batch_id,
    count(*) over () as dv_found
from "CONTROL"."LOAD_BATCH"
where
    source = %(source)s
    and status = 'open'
order by started_at, batch_id
limit 20
