-- The rows of a batch that contradict each other for one satellite: two hashdiffs of one key at one applied timestamp.
-- Reads only.
with
states as (
    select
        "DV_HASHKEY_LNK_CUSTOMER_ACCOUNT" as dv_hashkey,
        "DV_HASHDIFF_SAT_HOLDING" as dv_hashdiff,
        dv_applied_timestamp,
        dv_row_number
        , "CUSTOMER_ID"
        , "ACCOUNT_ID"
        , "CITY"
        , "PHONE"
        , "SHARE"
    from "STAGED"."BANK__ROWS"
    where
        dv_batch_id = %(batch_id)s
        and "DV_RECTARGET_SAT_HOLDING" is not null
),
repeated as (
    select
        dv_hashkey,
        dv_applied_timestamp
    from states
    group by dv_hashkey, dv_applied_timestamp
    having count(*) > 1
),
contradictions as (
    select
        states.dv_hashkey,
        states.dv_applied_timestamp
    from states
    inner join repeated
        on states.dv_hashkey = repeated.dv_hashkey
        and states.dv_applied_timestamp = repeated.dv_applied_timestamp
    group by states.dv_hashkey, states.dv_applied_timestamp
    having min(states.dv_hashdiff) <> max(states.dv_hashdiff)
)
select
    states.dv_row_number,
    states.dv_applied_timestamp,
    count(*) over () as dv_contradicting_rows
    , states."CUSTOMER_ID"
    , states."ACCOUNT_ID"
    , states."CITY"
    , states."PHONE"
    , states."SHARE"
from states
inner join contradictions
    on states.dv_hashkey = contradictions.dv_hashkey
    and states.dv_applied_timestamp = contradictions.dv_applied_timestamp
order by states.dv_hashkey, states.dv_applied_timestamp, states.dv_row_number
limit 10
