-- The hash keys of a satellite that its hub or link does not hold, or those of a link that one of its hubs does not. Left
-- out are the ghost, and rows of open batches that have not done the parent's step yet. A parent is read without a bound
-- on its load timestamp. Every row carries the number of all that were found. Reads only: one batch's rows, or all.
with
failing as (
    select
        child."dv_hashkey_hub_customer" as dv_hashkey,
        count(*) as dv_rows,
        min(child.dv_load_timestamp) as dv_first_load_timestamp,
        max(child.dv_load_timestamp) as dv_newest_load_timestamp
    from "vault"."lnk_customer_account" as child
    where
        not exists (
            select 1
            from "vault"."hub_customer" as parent
            where parent."dv_hashkey_hub_customer" = child."dv_hashkey_hub_customer"
        )
        and child.dv_load_timestamp not in (
            select batch.load_timestamp
            from "control"."load_batch" as batch
            inner join "control"."load_step" as step
                on batch.batch_id = step.batch_id
            where
                batch.source = $source
                and batch.status = 'open'
                and step.step = $step
                and step.recorded_at is null
        )
    group by child."dv_hashkey_hub_customer"
)
select
    $parent_table as dv_missing_in,
    dv_hashkey,
    dv_rows,
    dv_first_load_timestamp,
    dv_newest_load_timestamp,
    count(*) over () as dv_found
from failing
order by dv_rows desc, dv_hashkey
limit 20
