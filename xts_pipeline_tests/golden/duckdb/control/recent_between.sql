-- The batches of a source, from one load timestamp to another, for which control/recent_batch finds a beginning. Reads
-- only.
select distinct load_batch.batch_id
from "control"."load_batch" as load_batch
inner join "control"."load_batch" as earlier
    on earlier.source = load_batch.source
    and earlier.load_timestamp < load_batch.load_timestamp
    and earlier.earliest_applied_timestamp <= load_batch.earliest_applied_timestamp
where
    load_batch.source = $source
    and load_batch.load_timestamp >= $since
    and load_batch.load_timestamp <= $until
    and earlier.status <> 'abandoned'
