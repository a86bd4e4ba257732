-- The staged rows of every stamped batch, each with its batch's load timestamp.
create or replace view "STAGED"."BANK" as
select
    batch.load_timestamp as dv_load_timestamp,
    staged_rows.*
from "STAGED"."BANK__ROWS" as staged_rows
inner join "CONTROL"."LOAD_BATCH" as batch
    on staged_rows.dv_batch_id = batch.batch_id
where batch.status <> 'abandoned'
