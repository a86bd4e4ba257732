-- The newest delivery of one partition of a source, with the batch it became, as first seen. Reads only.
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
    and delivery.partition_key = %(partition_key)s
order by delivery.delivery_number desc
limit 1
