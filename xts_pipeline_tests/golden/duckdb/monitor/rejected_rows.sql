-- The rows that were kept out of the vault, or of one batch out of it (`of_batch`), counted by batch and reason, the
-- newest batch first. Every row carries the number of all of them. Reads only.
select
    batch.source,
    batch.partition_key,
    batch.batch_id,
    batch.load_timestamp,
    rejected.reason,
    count(*) as row_count,
    min(rejected.row_number) as first_row_number,
    sum(count(*)) over () as all_rows
from "control"."rejected_row" as rejected
inner join "control"."load_batch" as batch
    on rejected.batch_id = batch.batch_id
where
    batch.status <> 'abandoned'
group by batch.source, batch.partition_key, batch.batch_id, batch.load_timestamp, rejected.reason
order by batch.load_timestamp desc, row_count desc, rejected.reason
limit 20
