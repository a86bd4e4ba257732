-- Where the XTS and a satellite disagree about the timeline. At every point of a key (applied timestamps of its facts and
-- of its satellite rows) the state is the hashdiff with the greatest applied, then load timestamp at or before it; the
-- two must be equal, and where one has a state the other has one. Left out are ghosts, and whatever came with or after
-- the oldest open batch whose step for this satellite is not recorded: its facts may be there and its rows not yet.
-- Two timelines are equal when they change at the same points to the same states: keys whose changes differ are found
-- first, and only of those every point is compared.
-- With `as_known`, the two are compared as they were known at a moment, which finds what was done to them since then.
-- Every row carries the number of all that were found. Reads only: the keys of one batch, or all.
with
waiting as (
    select min(batch.load_timestamp) as first_load_timestamp
    from "control"."load_batch" as batch
    inner join "control"."load_step" as step
        on batch.batch_id = step.batch_id
    where
        batch.source = $source
        and batch.status = 'open'
        and step.step = $step
        and step.recorded_at is null
),
wanted as (
    select
        xts."dv_hashkey_lnk_customer_account" as dv_hashkey,
        xts.dv_applied_timestamp,
        xts.dv_hashdiff
    from "vault"."sat_xt_lnk_customer_account" as xts
    cross join waiting
    where
        xts.dv_rectarget = $record_target
        and (waiting.first_load_timestamp is null or xts.dv_load_timestamp < waiting.first_load_timestamp)
    qualify
        row_number() over (
            partition by xts."dv_hashkey_lnk_customer_account", xts.dv_applied_timestamp
            order by xts.dv_load_timestamp desc, xts.dv_hashdiff
        ) = 1
),
standing as (
    select
        known."dv_hashkey_lnk_customer_account" as dv_hashkey,
        known.dv_applied_timestamp,
        known.dv_hashdiff
    from "vault"."sat_holding" as known
    cross join waiting
    where
        known.dv_sid <> 0
        and (waiting.first_load_timestamp is null or known.dv_load_timestamp < waiting.first_load_timestamp)
    qualify
        row_number() over (
            partition by known."dv_hashkey_lnk_customer_account", known.dv_applied_timestamp
            order by known.dv_load_timestamp desc, known.dv_hashdiff
        ) = 1
),
changes_of_xts as (
    select
        dv_hashkey,
        dv_applied_timestamp,
        dv_hashdiff
    from wanted
    qualify
        dv_hashdiff is distinct from lag(dv_hashdiff) over (
            partition by dv_hashkey
            order by dv_applied_timestamp
        )
),
changes_of_satellite as (
    select
        dv_hashkey,
        dv_applied_timestamp,
        dv_hashdiff
    from standing
    qualify
        dv_hashdiff is distinct from lag(dv_hashdiff) over (
            partition by dv_hashkey
            order by dv_applied_timestamp
        )
),
differing as (
    select distinct coalesce(changes_of_xts.dv_hashkey, changes_of_satellite.dv_hashkey) as dv_hashkey
    from changes_of_xts
    full outer join changes_of_satellite
        on changes_of_xts.dv_hashkey = changes_of_satellite.dv_hashkey
        and changes_of_xts.dv_applied_timestamp = changes_of_satellite.dv_applied_timestamp
        and changes_of_xts.dv_hashdiff = changes_of_satellite.dv_hashdiff
    where
        changes_of_xts.dv_hashkey is null
        or changes_of_satellite.dv_hashkey is null
),
differing_wanted as (
    select
        wanted.dv_hashkey,
        wanted.dv_applied_timestamp,
        wanted.dv_hashdiff
    from wanted
    inner join differing
        on wanted.dv_hashkey = differing.dv_hashkey
),
differing_standing as (
    select
        standing.dv_hashkey,
        standing.dv_applied_timestamp,
        standing.dv_hashdiff
    from standing
    inner join differing
        on standing.dv_hashkey = differing.dv_hashkey
),
points as (
    select
        coalesce(wanted.dv_hashkey, standing.dv_hashkey) as dv_hashkey,
        coalesce(wanted.dv_applied_timestamp, standing.dv_applied_timestamp) as dv_applied_timestamp,
        wanted.dv_hashdiff as wanted_hashdiff,
        standing.dv_hashdiff as standing_hashdiff
    from differing_wanted as wanted
    full outer join differing_standing as standing
        on wanted.dv_hashkey = standing.dv_hashkey
        and wanted.dv_applied_timestamp = standing.dv_applied_timestamp
),
stretches as (
    select
        dv_hashkey,
        dv_applied_timestamp,
        wanted_hashdiff,
        standing_hashdiff,
        count(wanted_hashdiff) over (
            partition by dv_hashkey
            order by dv_applied_timestamp
            rows between unbounded preceding and current row
        ) as wanted_stretch,
        count(standing_hashdiff) over (
            partition by dv_hashkey
            order by dv_applied_timestamp
            rows between unbounded preceding and current row
        ) as standing_stretch
    from points
),
states as (
    select
        dv_hashkey,
        dv_applied_timestamp,
        first_value(wanted_hashdiff) over (
            partition by dv_hashkey, wanted_stretch
            order by dv_applied_timestamp
            rows between unbounded preceding and current row
        ) as dv_hashdiff_of_xts,
        first_value(standing_hashdiff) over (
            partition by dv_hashkey, standing_stretch
            order by dv_applied_timestamp
            rows between unbounded preceding and current row
        ) as dv_hashdiff_of_satellite
    from stretches
),
failing as (
    select
        dv_hashkey,
        dv_applied_timestamp,
        dv_hashdiff_of_xts,
        dv_hashdiff_of_satellite,
        count(*) over () as dv_found
    from states
    where dv_hashdiff_of_xts is distinct from dv_hashdiff_of_satellite
    order by dv_hashkey, dv_applied_timestamp
    limit 20
)
select
    "hub_0"."customer_id" as "customer_id",
    "hub_1"."account_id" as "account_id",
    failing.dv_applied_timestamp,
    failing.dv_hashdiff_of_xts,
    failing.dv_hashdiff_of_satellite,
    failing.dv_hashkey,
    failing.dv_found
from failing
left join "vault"."lnk_customer_account" as link
    on failing.dv_hashkey = link."dv_hashkey_lnk_customer_account"
left join "vault"."hub_customer" as "hub_0"
    on link."dv_hashkey_hub_customer" = "hub_0"."dv_hashkey_hub_customer"
left join "vault"."hub_account" as "hub_1"
    on link."dv_hashkey_hub_account" = "hub_1"."dv_hashkey_hub_account"
order by failing.dv_hashkey, failing.dv_applied_timestamp
