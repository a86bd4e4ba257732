-- The rows of a batch that contradict each other for one satellite: two hashdiffs of one key at one applied timestamp.
-- Reads only.
with
states as (
    select
        "dv_hashkey_lnk_customer_account" as dv_hashkey,
        "dv_hashdiff_sat_holding" as dv_hashdiff,
        dv_applied_timestamp,
        dv_row_number
        , "customer_id"
        , "account_id"
        , "city"
        , "phone"
        , "share"
    from "staged"."bank__rows"
    where
        dv_batch_id = $batch_id
        and "dv_rectarget_sat_holding" is not null
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
    , states."customer_id"
    , states."account_id"
    , states."city"
    , states."phone"
    , states."share"
from states
inner join contradictions
    on states.dv_hashkey = contradictions.dv_hashkey
    and states.dv_applied_timestamp = contradictions.dv_applied_timestamp
order by states.dv_hashkey, states.dv_applied_timestamp, states.dv_row_number
limit 10
