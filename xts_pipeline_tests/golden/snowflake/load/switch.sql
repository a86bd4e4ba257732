-- SWITCH: is any staged row of this satellite out of sequence, key by key?
-- A row is late when its key has a newer point for the record target, and a correction when its key has a point at the
-- same applied timestamp whose winning hashdiff is another. Known are the XTS rows with an earlier load timestamp and
-- the staged rows of older open batches of the source, which the XTS does not hold yet when batches run step by step.
-- Only facts at or after the batch's earliest applied timestamp can matter. Reads only.
with
facts as (
    select distinct
        "DV_HASHKEY_LNK_CUSTOMER_ACCOUNT" as dv_hashkey,
        dv_applied_timestamp,
        "DV_HASHDIFF_SAT_HOLDING" as dv_hashdiff
    from "STAGED"."BANK__ROWS"
    where
        dv_batch_id = %(batch_id)s
        and "DV_RECTARGET_SAT_HOLDING" is not null
),
known as (
    select
        xts."DV_HASHKEY_LNK_CUSTOMER_ACCOUNT" as dv_hashkey,
        xts.dv_applied_timestamp,
        xts.dv_load_timestamp,
        xts.dv_hashdiff
    from "VAULT"."SAT_XT_LNK_CUSTOMER_ACCOUNT" as xts
    where
        xts.dv_rectarget = %(record_target)s
        and xts.dv_load_timestamp < %(load_timestamp)s
        and xts.dv_applied_timestamp >= %(earliest_applied_timestamp)s
        and xts."DV_HASHKEY_LNK_CUSTOMER_ACCOUNT" in (select facts.dv_hashkey from facts)
    union all
    select
        waiting."DV_HASHKEY_LNK_CUSTOMER_ACCOUNT" as dv_hashkey,
        waiting.dv_applied_timestamp,
        batch.load_timestamp as dv_load_timestamp,
        waiting."DV_HASHDIFF_SAT_HOLDING" as dv_hashdiff
    from "STAGED"."BANK__ROWS" as waiting
    inner join "CONTROL"."LOAD_BATCH" as batch
        on waiting.dv_batch_id = batch.batch_id
    where
        batch.source = %(source)s
        and batch.status = 'open'
        and batch.load_timestamp < %(load_timestamp)s
        and waiting."DV_RECTARGET_SAT_HOLDING" is not null
        and waiting.dv_applied_timestamp >= %(earliest_applied_timestamp)s
        and waiting."DV_HASHKEY_LNK_CUSTOMER_ACCOUNT" in (select facts.dv_hashkey from facts)
),
newest as (
    select
        dv_hashkey,
        max(dv_applied_timestamp) as newest_applied_timestamp
    from known
    group by dv_hashkey
),
standing as (
    select
        dv_hashkey,
        dv_applied_timestamp,
        dv_hashdiff
    from known
    qualify
        row_number() over (partition by dv_hashkey, dv_applied_timestamp order by dv_load_timestamp desc) = 1
),
judged as (
    select
        facts.dv_hashkey,
        coalesce(newest.newest_applied_timestamp > facts.dv_applied_timestamp, false) as is_late,
        coalesce(standing.dv_hashdiff <> facts.dv_hashdiff, false) as is_correction
    from facts
    left join newest
        on facts.dv_hashkey = newest.dv_hashkey
    left join standing
        on facts.dv_hashkey = standing.dv_hashkey
        and facts.dv_applied_timestamp = standing.dv_applied_timestamp
)
select
    count(*) as rows_read,
    count(distinct dv_hashkey) as keys_read,
    coalesce(sum(case when is_late then 1 else 0 end), 0) as late_rows,
    count(distinct case when is_late then dv_hashkey end) as late_keys,
    coalesce(sum(case when is_correction then 1 else 0 end), 0) as corrected_rows
from judged
