-- The batches of a source, from one load timestamp to another, for which control/recent_batch finds a beginning. Reads
-- only.
select distinct load_batch.batch_id
from "CONTROL"."LOAD_BATCH" as load_batch
inner join "CONTROL"."LOAD_BATCH" as earlier
    on earlier.source = load_batch.source
    and earlier.load_timestamp < load_batch.load_timestamp
    and earlier.earliest_applied_timestamp <= load_batch.earliest_applied_timestamp
where
    load_batch.source = %(source)s
    and load_batch.load_timestamp >= %(since)s
    and load_batch.load_timestamp <= %(until)s
    and earlier.status <> 'abandoned'
