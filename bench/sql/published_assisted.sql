-- The published load of late data: for every key the newest fact before, and the newest after, some delivered row, both
-- ranked over the whole XTS; the delivered rows, and the state before where it is also the state after. It loads other
-- rows than the timeline rule wants: it stands here for what it costs.
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
delivered as (
    select *
    from staged.bench
    where dv_load_timestamp = $load_timestamp
),
facts_before as (
    select
        facts.dv_hashkey_hub_customer,
        facts.dv_hashdiff
    from sat_xt_hub_customer as facts
    where
        facts.dv_rectarget = 'sat_customer'
        and exists (
            select 1
            from delivered
            where
                delivered.dv_hashkey_hub_customer = facts.dv_hashkey_hub_customer
                and delivered.dv_applied_timestamp > facts.dv_applied_timestamp
        )
    qualify
        rank() over (
            partition by facts.dv_hashkey_hub_customer
            order by facts.dv_applied_timestamp desc, facts.dv_load_timestamp desc
        ) = 1
),
facts_after as (
    select
        facts.dv_hashkey_hub_customer,
        facts.dv_hashdiff,
        facts.dv_applied_timestamp
    from sat_xt_hub_customer as facts
    where
        facts.dv_rectarget = 'sat_customer'
        and exists (
            select 1
            from delivered
            where
                delivered.dv_hashkey_hub_customer = facts.dv_hashkey_hub_customer
                and delivered.dv_applied_timestamp < facts.dv_applied_timestamp
        )
    qualify
        rank() over (
            partition by facts.dv_hashkey_hub_customer
            order by facts.dv_applied_timestamp desc, facts.dv_load_timestamp desc
        ) = 1
),
chosen as (
    select delivered.*
    from delivered
    where
        exists (
            select 1
            from delivered as other
            where
                other.dv_hashkey_hub_customer = delivered.dv_hashkey_hub_customer
                and not exists (
                    select 1
                    from facts_before
                    where
                        facts_before.dv_hashkey_hub_customer = other.dv_hashkey_hub_customer
                        and facts_before.dv_hashdiff = other.dv_hashdiff_sat_customer
                )
        )
        and not exists (
            select 1
            from sat_customer as known
            where
                known.dv_hashkey_hub_customer = delivered.dv_hashkey_hub_customer
                and known.dv_applied_timestamp = delivered.dv_applied_timestamp
        )
),
rows_to_write as (
    select distinct
        dv_tenant_id,
        dv_hashkey_hub_customer,
        dv_load_timestamp,
        dv_applied_timestamp,
        dv_recordsource,
        dv_hashdiff_sat_customer as dv_hashdiff,
        'insert' as dv_xts_event,
        name,
        street,
        city,
        postcode,
        tier
    from chosen
    union all
    select distinct
        chosen.dv_tenant_id,
        known.dv_hashkey_hub_customer,
        chosen.dv_load_timestamp,
        facts_after.dv_applied_timestamp,
        chosen.dv_recordsource,
        known.dv_hashdiff,
        'copy' as dv_xts_event,
        known.name,
        known.street,
        known.city,
        known.postcode,
        known.tier
    from chosen
    inner join sat_customer as known
        on chosen.dv_hashkey_hub_customer = known.dv_hashkey_hub_customer
    inner join facts_after
        on chosen.dv_hashkey_hub_customer = facts_after.dv_hashkey_hub_customer
    inner join facts_before
        on chosen.dv_hashkey_hub_customer = facts_before.dv_hashkey_hub_customer
        and facts_before.dv_hashdiff = facts_after.dv_hashdiff
)
select
    dv_tenant_id,
    dv_hashkey_hub_customer,
    dv_load_timestamp,
    dv_applied_timestamp,
    dv_recordsource,
    dv_hashdiff,
    (select coalesce(max(numbered.dv_sid), 0) from sat_customer as numbered) + row_number() over () as dv_sid,
    dv_xts_event,
    name,
    street,
    city,
    postcode,
    tier
from rows_to_write
