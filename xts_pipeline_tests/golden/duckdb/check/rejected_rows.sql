-- The rows of a source that were kept out of the vault, counted by batch and reason, the newest batch first. Every row
-- carries the number of all of them. Reads only: one batch's rows, or all.
select
    rejected.reason as dv_reason,
    count(*) as dv_rows,
    min(rejected.row_number) as dv_first_row_number,
    batch.partition_key as dv_partition_key,
    batch.load_timestamp as dv_load_timestamp,
    batch.batch_id as dv_batch_id,
    sum(count(*)) over () as dv_found
from "control"."rejected_row" as rejected
inner join "control"."load_batch" as batch
    on rejected.batch_id = batch.batch_id
where
    batch.source = $source
    and batch.status <> 'abandoned'
group by rejected.reason, batch.partition_key, batch.load_timestamp, batch.batch_id
order by batch.load_timestamp desc, dv_rows desc, rejected.reason
limit 20
