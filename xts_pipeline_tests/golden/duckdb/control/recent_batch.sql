-- Where the recent past begins for a batch: the latest beginning of a batch of its source with an earlier load. Reads
-- only.
select max(earlier.earliest_applied_timestamp) as recent_from
from "control"."load_batch" as earlier
where
    earlier.source = $source
    and earlier.status <> 'abandoned'
    and earlier.load_timestamp < $load_timestamp
    and earlier.earliest_applied_timestamp <= $earliest_applied_timestamp
