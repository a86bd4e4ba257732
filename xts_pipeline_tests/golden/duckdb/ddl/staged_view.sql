-- The staged rows of every stamped batch, each with its batch's load timestamp.
create or replace view "staged"."bank" as
select
    batch.load_timestamp as dv_load_timestamp,
    staged_rows.*
from "staged"."bank__rows" as staged_rows
inner join "control"."load_batch" as batch
    on staged_rows.dv_batch_id = batch.batch_id
where batch.status <> 'abandoned'
