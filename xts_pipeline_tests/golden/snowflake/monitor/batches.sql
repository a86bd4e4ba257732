-- The batches of one source, or of all, the newest first, with what their steps found and wrote. Every row carries the
-- number of all. Reads only.
select
    batch.batch_id,
    batch.source,
    batch.partition_key,
    batch.load_timestamp,
    batch.status,
    batch.earliest_applied_timestamp,
    batch.newest_applied_timestamp,
    batch.rows_staged,
    batch.rows_rejected,
    coalesce(sum(case when step.kind = 'xts' then step.late_rows end), 0) as violations,
    coalesce(sum(case when step.kind = 'satellite' then step.rows_inserted end), 0) as rows_inserted,
    coalesce(sum(case when step.kind = 'satellite' then step.rows_copied end), 0) as rows_copied,
    count(*) over () as all_batches
from "CONTROL"."LOAD_BATCH" as batch
left join "CONTROL"."LOAD_STEP" as step
    on batch.batch_id = step.batch_id
where batch.source = %(source)s
group by
    batch.batch_id,
    batch.source,
    batch.partition_key,
    batch.load_timestamp,
    batch.status,
    batch.earliest_applied_timestamp,
    batch.newest_applied_timestamp,
    batch.rows_staged,
    batch.rows_rejected
order by batch.load_timestamp desc
limit 20
