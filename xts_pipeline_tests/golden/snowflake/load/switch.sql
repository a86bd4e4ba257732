-- SWITCH: is any staged row of this satellite out of sequence, key by key?
-- A row is late when its key has a newer point for the record target, and a correction when its key has a point at the
-- same applied timestamp whose winning hashdiff is another. Known are the XTS rows with an earlier load timestamp and
-- the staged rows of older open batches of the source, which the XTS does not hold yet when batches run step by step.
-- Only facts at or after the batch's earliest applied timestamp can matter; hashdiffs are read between it and the newest
-- alone. With `one_row_a_key`, no key is staged twice. Reads only.
with
touched as (
    select
        "DV_HASHKEY_LNK_CUSTOMER_ACCOUNT" as dv_hashkey,
        min(dv_row_number) as dv_key_number
    from "STAGED"."BANK__ROWS"
    where
        dv_batch_id = %(batch_id)s
        and "DV_RECTARGET_SAT_HOLDING" is not null
    group by "DV_HASHKEY_LNK_CUSTOMER_ACCOUNT"
),
facts as (
    select distinct
        touched.dv_hashkey,
        touched.dv_key_number,
        staged_rows.dv_applied_timestamp,
        staged_rows."DV_HASHDIFF_SAT_HOLDING" as dv_hashdiff
    from "STAGED"."BANK__ROWS" as staged_rows
    inner join touched
        on staged_rows."DV_HASHKEY_LNK_CUSTOMER_ACCOUNT" = touched.dv_hashkey
    where
        staged_rows.dv_batch_id = %(batch_id)s
        and staged_rows."DV_RECTARGET_SAT_HOLDING" is not null
),
waiting as (
    select
        waiting_rows."DV_HASHKEY_LNK_CUSTOMER_ACCOUNT" as dv_hashkey,
        waiting_rows.dv_applied_timestamp,
        batch.load_timestamp as dv_load_timestamp,
        waiting_rows."DV_HASHDIFF_SAT_HOLDING" as dv_hashdiff
    from "STAGED"."BANK__ROWS" as waiting_rows
    inner join "CONTROL"."LOAD_BATCH" as batch
        on waiting_rows.dv_batch_id = batch.batch_id
    where
        batch.source = %(source)s
        and batch.status = 'open'
        and batch.load_timestamp < %(load_timestamp)s
        and waiting_rows."DV_RECTARGET_SAT_HOLDING" is not null
        and waiting_rows.dv_applied_timestamp >= %(earliest_applied_timestamp)s
),
newer as (
    select
        touched.dv_key_number,
        xts.dv_applied_timestamp
    from "VAULT"."SAT_XT_LNK_CUSTOMER_ACCOUNT" as xts
    inner join touched
        on xts."DV_HASHKEY_LNK_CUSTOMER_ACCOUNT" = touched.dv_hashkey
    where
        xts.dv_rectarget = %(record_target)s
        and xts.dv_load_timestamp < %(load_timestamp)s
        and xts.dv_applied_timestamp > %(earliest_applied_timestamp)s
    union all
    select
        touched.dv_key_number,
        waiting.dv_applied_timestamp
    from waiting
    inner join touched
        on waiting.dv_hashkey = touched.dv_hashkey
),
newest as (
    select
        dv_key_number,
        max(dv_applied_timestamp) as newest_applied_timestamp
    from newer
    group by dv_key_number
),
same_point as (
    select
        facts.dv_key_number,
        facts.dv_applied_timestamp,
        xts.dv_load_timestamp,
        xts.dv_hashdiff
    from "VAULT"."SAT_XT_LNK_CUSTOMER_ACCOUNT" as xts
    inner join facts
        on xts."DV_HASHKEY_LNK_CUSTOMER_ACCOUNT" = facts.dv_hashkey
        and xts.dv_applied_timestamp = facts.dv_applied_timestamp
    where
        xts.dv_rectarget = %(record_target)s
        and xts.dv_load_timestamp < %(load_timestamp)s
        and xts.dv_applied_timestamp >= %(earliest_applied_timestamp)s
        and xts.dv_applied_timestamp <= %(newest_applied_timestamp)s
    union all
    select
        facts.dv_key_number,
        facts.dv_applied_timestamp,
        waiting.dv_load_timestamp,
        waiting.dv_hashdiff
    from waiting
    inner join facts
        on waiting.dv_hashkey = facts.dv_hashkey
        and waiting.dv_applied_timestamp = facts.dv_applied_timestamp
),
standing as (
    select
        dv_key_number,
        dv_applied_timestamp,
        dv_hashdiff
    from same_point
    qualify
        row_number() over (
            partition by dv_key_number, dv_applied_timestamp
            order by dv_load_timestamp desc
        ) = 1
),
judged as (
    select
        facts.dv_key_number,
        coalesce(newest.newest_applied_timestamp > facts.dv_applied_timestamp, false) as is_late,
        coalesce(standing.dv_hashdiff <> facts.dv_hashdiff, false) as is_correction
    from facts
    left join newest
        on facts.dv_key_number = newest.dv_key_number
    left join standing
        on facts.dv_key_number = standing.dv_key_number
        and facts.dv_applied_timestamp = standing.dv_applied_timestamp
)
select
    count(*) as rows_read,
    coalesce(sum(case when is_late then 1 else 0 end), 0) as late_rows,
    count(distinct dv_key_number) as keys_read,
    count(distinct case when is_late then dv_key_number end) as late_keys,
    coalesce(sum(case when is_correction then 1 else 0 end), 0) as corrected_rows
from judged
