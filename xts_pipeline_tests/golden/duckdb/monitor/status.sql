-- The newest batch of every source, with what all its batches brought; abandoned ones are counted, and nothing more. Reads
-- only.
with
brought as (
    select
        source,
        count(*) as batches,
        sum(case when status = 'open' then 1 else 0 end) as open_batches,
        sum(case when status = 'abandoned' then 1 else 0 end) as abandoned_batches,
        sum(case when status = 'abandoned' then 0 else rows_staged end) as rows_of_all,
        sum(case when status = 'abandoned' then 0 else rows_rejected end) as rejected_of_all,
        max(case when status = 'abandoned' then null else newest_applied_timestamp end) as newest_of_all
    from "control"."load_batch"
    group by source
),
newest as (
    select
        source,
        batch_id,
        partition_key,
        load_timestamp,
        status,
        rows_staged,
        rows_rejected,
        newest_applied_timestamp
    from "control"."load_batch"
    where status <> 'abandoned'
    qualify row_number() over (partition by source order by load_timestamp desc) = 1
)
select
    brought.source,
    brought.batches,
    brought.open_batches,
    brought.abandoned_batches,
    brought.rows_of_all,
    brought.rejected_of_all,
    brought.newest_of_all,
    newest.batch_id,
    newest.partition_key,
    newest.load_timestamp,
    newest.status,
    newest.rows_staged,
    newest.rows_rejected,
    newest.newest_applied_timestamp
from brought
left join newest
    on brought.source = newest.source
order by brought.source
