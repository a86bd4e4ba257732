-- The newest heartbeat of one record target: how new its newest state is by applied timestamp, and which loads brought and
-- last stated it. A fact that is dated up to a day after its load counts with its load, one that is dated later yet not
-- at all. Reads only the facts loaded between two stamps, those of the batches that state the newest applied timestamps.
with
heartbeats as (
    select
        dv_load_timestamp,
        max(least(dv_applied_timestamp, dv_load_timestamp)) as heartbeat
    from "VAULT"."SAT_XT_LNK_CUSTOMER_ACCOUNT"
    where
        dv_rectarget = %(record_target)s
        and dv_load_timestamp >= %(first_load_timestamp)s
        and dv_load_timestamp <= %(last_load_timestamp)s
        and datediff('microsecond', dv_load_timestamp, dv_applied_timestamp) <= 86400000000
    group by dv_load_timestamp
),
newest as (
    select
        dv_load_timestamp,
        heartbeat
    from heartbeats
    qualify rank() over (order by heartbeat desc) = 1
)
select
    max(heartbeat) as heartbeat,
    min(dv_load_timestamp) as known_since,
    max(dv_load_timestamp) as confirmed_at
from newest
