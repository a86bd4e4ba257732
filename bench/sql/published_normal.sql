-- The published load in sequence: the whole satellite is ranked, and states that are the newest already are left out.
insert into sat_customer (
    dv_tenant_id,
    dv_hashkey_hub_customer,
    dv_load_timestamp,
    dv_applied_timestamp,
    dv_recordsource,
    dv_hashdiff,
    dv_sid,
    dv_xts_event,
    name,
    street,
    city,
    postcode,
    tier
)
with
ranked as (
    select
        dv_hashkey_hub_customer,
        dv_hashdiff
    from sat_customer
    qualify
        rank() over (
            partition by dv_hashkey_hub_customer
            order by dv_applied_timestamp desc, dv_load_timestamp desc
        ) = 1
),
changed as (
    select distinct
        delivered.dv_tenant_id,
        delivered.dv_hashkey_hub_customer,
        delivered.dv_load_timestamp,
        delivered.dv_applied_timestamp,
        delivered.dv_recordsource,
        delivered.dv_hashdiff_sat_customer,
        delivered.name,
        delivered.street,
        delivered.city,
        delivered.postcode,
        delivered.tier
    from staged.bench as delivered
    where
        delivered.dv_load_timestamp = $load_timestamp
        and not exists (
            select 1
            from ranked
            where
                ranked.dv_hashkey_hub_customer = delivered.dv_hashkey_hub_customer
                and ranked.dv_hashdiff = delivered.dv_hashdiff_sat_customer
        )
)
select
    dv_tenant_id,
    dv_hashkey_hub_customer,
    dv_load_timestamp,
    dv_applied_timestamp,
    dv_recordsource,
    dv_hashdiff_sat_customer,
    (select coalesce(max(numbered.dv_sid), 0) from sat_customer as numbered) + row_number() over () as dv_sid,
    'insert' as dv_xts_event,
    name,
    street,
    city,
    postcode,
    tier
from changed
