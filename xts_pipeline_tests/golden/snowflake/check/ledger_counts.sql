-- The loads of a satellite for which its table or its XTS holds another number of rows than the ledger recorded, and those
-- that the ledger does not have. Facts that were seeded from rows loaded without an XTS are left out, as is the ghost.
-- Every row carries the number of all that were found. Reads only: one batch's rows, or all.
with
recorded as (
    select
        batch.load_timestamp,
        step.kind,
        step.xts_assisted,
        step.rows_inserted + coalesce(step.rows_copied, 0) as recorded_rows
    from "CONTROL"."LOAD_STEP" as step
    inner join "CONTROL"."LOAD_BATCH" as batch
        on step.batch_id = batch.batch_id
    where
        step.step in (%(step)s, %(xts_step)s)
        and step.recorded_at is not null
),
held as (
    select
        dv_load_timestamp as load_timestamp,
        'satellite' as kind,
        count(*) as held_rows
    from "VAULT"."SAT_HOLDING"
    where
        dv_sid <> 0
    group by dv_load_timestamp
    union all
    select
        dv_load_timestamp as load_timestamp,
        'xts' as kind,
        count(*) as held_rows
    from "VAULT"."SAT_XT_LNK_CUSTOMER_ACCOUNT"
    where
        dv_rectarget = %(record_target)s
        and dv_load_timestamp not in (
            select recorded.load_timestamp
            from recorded
            where
                recorded.kind = 'satellite'
                and not recorded.xts_assisted
        )
    group by dv_load_timestamp
)
select
    coalesce(recorded.kind, held.kind) as dv_table,
    coalesce(held.held_rows, 0) as dv_rows,
    coalesce(recorded.recorded_rows, 0) as dv_recorded,
    coalesce(recorded.load_timestamp, held.load_timestamp) as dv_load_timestamp,
    count(*) over () as dv_found
from recorded
full outer join held
    on recorded.load_timestamp = held.load_timestamp
    and recorded.kind = held.kind
where coalesce(held.held_rows, 0) <> coalesce(recorded.recorded_rows, 0)
order by dv_load_timestamp desc, dv_table
limit 20
