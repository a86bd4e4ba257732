-- The newest delivery of every partition of a source, in the order in which they were first seen. Reads only.
select
    source,
    partition_key,
    delivery_number,
    digest,
    file_state,
    seen_at,
    requested_at,
    requested_by,
    staged_batch_id,
    staged_at
from "control"."delivery"
where source = $source
qualify row_number() over (partition by partition_key order by delivery_number desc) = 1
order by seen_at, partition_key
