-- The hash keys of a satellite that its hub or link does not hold, or those of a link that one of its hubs does not. Left
-- out are the ghost, and rows of open batches that have not done the parent's step yet. A parent is read without a bound
-- on its load timestamp. Every row carries the number of all that were found. Reads only: one batch's rows, or all.
with
failing as (
    select
        child."DV_HASHKEY_HUB_CUSTOMER" as dv_hashkey,
        count(*) as dv_rows,
        min(child.dv_load_timestamp) as dv_first_load_timestamp,
        max(child.dv_load_timestamp) as dv_newest_load_timestamp
    from "VAULT"."LNK_CUSTOMER_ACCOUNT" as child
    where
        not exists (
            select 1
            from "VAULT"."HUB_CUSTOMER" as parent
            where parent."DV_HASHKEY_HUB_CUSTOMER" = child."DV_HASHKEY_HUB_CUSTOMER"
        )
        and child.dv_load_timestamp not in (
            select batch.load_timestamp
            from "CONTROL"."LOAD_BATCH" as batch
            inner join "CONTROL"."LOAD_STEP" as step
                on batch.batch_id = step.batch_id
            where
                batch.source = %(source)s
                and batch.status = 'open'
                and step.step = %(step)s
                and step.recorded_at is null
        )
    group by child."DV_HASHKEY_HUB_CUSTOMER"
)
select
    %(parent_table)s as dv_missing_in,
    dv_hashkey,
    dv_rows,
    dv_first_load_timestamp,
    dv_newest_load_timestamp,
    count(*) over () as dv_found
from failing
order by dv_rows desc, dv_hashkey
limit 20
