-- The newest delivery of every partition of a source, or of one, with the batch it became, as first seen. Reads only.
select
    delivery.source,
    delivery.partition_key,
    delivery.delivery_number,
    delivery.digest,
    delivery.file_state,
    delivery.seen_at,
    delivery.requested_at,
    delivery.requested_by,
    delivery.staged_batch_id,
    delivery.staged_at,
    load_batch.status as batch_status,
    load_batch.root_run
from "CONTROL"."DELIVERY" as delivery
left join "CONTROL"."LOAD_BATCH" as load_batch
    on load_batch.batch_id = delivery.staged_batch_id
where
    delivery.source = %(source)s
qualify row_number() over (partition by delivery.partition_key order by delivery.delivery_number desc) = 1
order by delivery.seen_at, delivery.partition_key
