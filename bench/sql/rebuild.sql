-- The full rebuild: every key's timeline anew from all the facts, by window functions. The state at a point is the fact
-- with the greatest load there; a row is kept where it differs from the state at the point before.
create or replace table rebuilt_customer as
with
winners as (
    select
        dv_tenant_id,
        dv_hashkey_hub_customer,
        dv_load_timestamp,
        dv_applied_timestamp,
        dv_recordsource,
        dv_hashdiff
    from sat_xt_hub_customer
    where dv_rectarget = 'sat_customer'
    qualify
        row_number() over (
            partition by dv_hashkey_hub_customer, dv_applied_timestamp
            order by dv_load_timestamp desc
        ) = 1
),
changes as (
    select *
    from winners
    qualify
        dv_hashdiff is distinct from lag(dv_hashdiff) over (
            partition by dv_hashkey_hub_customer
            order by dv_applied_timestamp
        )
),
payloads as (
    select
        dv_hashkey_hub_customer,
        dv_hashdiff,
        name,
        street,
        city,
        postcode,
        tier
    from sat_customer
    where dv_sid <> 0
    union all
    select
        dv_hashkey_hub_customer,
        dv_hashdiff_sat_customer as dv_hashdiff,
        name,
        street,
        city,
        postcode,
        tier
    from staged.bench
    where dv_load_timestamp = $load_timestamp
),
one_payload_each as (
    select distinct on (dv_hashkey_hub_customer, dv_hashdiff) *
    from payloads
)
select
    changes.*,
    one_payload_each.name,
    one_payload_each.street,
    one_payload_each.city,
    one_payload_each.postcode,
    one_payload_each.tier
from changes
inner join one_payload_each
    on changes.dv_hashkey_hub_customer = one_payload_each.dv_hashkey_hub_customer
    and changes.dv_hashdiff = one_payload_each.dv_hashdiff
