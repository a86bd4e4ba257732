-- SWITCH: is any staged row of this satellite out of sequence, key by key?
-- A row is late when its key has a newer point for the record target, and a correction when its key has a point at the
-- same applied timestamp whose winning hashdiff is another. Known are the XTS rows with an earlier load timestamp and
-- the staged rows of older open batches of the source, which the XTS does not hold yet when batches run step by step.
-- Only facts at or after the batch's earliest applied timestamp can matter; hashdiffs are read between it and the newest
-- alone. With `one_row_a_key`, no key is staged twice. Reads only.
with
touched as (
    select
        "dv_hashkey_lnk_customer_account" as dv_hashkey,
        min(dv_row_number) as dv_key_number
    from "staged"."bank__rows"
    where
        dv_batch_id = $batch_id
        and "dv_rectarget_sat_holding" is not null
    group by "dv_hashkey_lnk_customer_account"
),
facts as (
    select distinct
        touched.dv_hashkey,
        touched.dv_key_number,
        staged_rows.dv_applied_timestamp,
        staged_rows."dv_hashdiff_sat_holding" as dv_hashdiff
    from "staged"."bank__rows" as staged_rows
    inner join touched
        on staged_rows."dv_hashkey_lnk_customer_account" = touched.dv_hashkey
    where
        staged_rows.dv_batch_id = $batch_id
        and staged_rows."dv_rectarget_sat_holding" is not null
),
waiting as (
    select
        waiting_rows."dv_hashkey_lnk_customer_account" as dv_hashkey,
        waiting_rows.dv_applied_timestamp,
        batch.load_timestamp as dv_load_timestamp,
        waiting_rows."dv_hashdiff_sat_holding" as dv_hashdiff
    from "staged"."bank__rows" as waiting_rows
    inner join "control"."load_batch" as batch
        on waiting_rows.dv_batch_id = batch.batch_id
    where
        batch.source = $source
        and batch.status = 'open'
        and batch.load_timestamp < $load_timestamp
        and waiting_rows."dv_rectarget_sat_holding" is not null
        and waiting_rows.dv_applied_timestamp >= $earliest_applied_timestamp
),
newer as (
    select
        touched.dv_key_number,
        xts.dv_applied_timestamp
    from "vault"."sat_xt_lnk_customer_account" as xts
    inner join touched
        on xts."dv_hashkey_lnk_customer_account" = touched.dv_hashkey
    where
        xts.dv_rectarget = $record_target
        and xts.dv_load_timestamp < $load_timestamp
        and xts.dv_applied_timestamp > $earliest_applied_timestamp
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
    from "vault"."sat_xt_lnk_customer_account" as xts
    inner join facts
        on xts."dv_hashkey_lnk_customer_account" = facts.dv_hashkey
        and xts.dv_applied_timestamp = facts.dv_applied_timestamp
    where
        xts.dv_rectarget = $record_target
        and xts.dv_load_timestamp < $load_timestamp
        and xts.dv_applied_timestamp >= $earliest_applied_timestamp
        and xts.dv_applied_timestamp <= $newest_applied_timestamp
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
