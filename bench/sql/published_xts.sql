-- The published XTS insert: the whole XTS is ranked, and what stands there already is left out.
insert into sat_xt_hub_customer (
    dv_tenant_id,
    dv_hashkey_hub_customer,
    dv_load_timestamp,
    dv_applied_timestamp,
    dv_recordsource,
    dv_hashdiff,
    dv_rectarget,
    dv_sequence_violation
)
with
ranked as (
    select
        dv_hashkey_hub_customer,
        dv_hashdiff,
        dv_rectarget,
        dv_applied_timestamp,
        dv_load_timestamp
    from sat_xt_hub_customer
    qualify
        rank() over (
            partition by dv_hashkey_hub_customer, dv_applied_timestamp
            order by dv_load_timestamp desc
        ) = 1
)
select distinct
    delivered.dv_tenant_id,
    delivered.dv_hashkey_hub_customer,
    delivered.dv_load_timestamp,
    delivered.dv_applied_timestamp,
    delivered.dv_recordsource,
    delivered.dv_hashdiff_sat_customer,
    delivered.dv_rectarget_sat_customer,
    $violation as dv_sequence_violation
from staged.bench as delivered
where
    delivered.dv_load_timestamp = $load_timestamp
    and not exists (
        select 1
        from ranked
        where
            ranked.dv_hashkey_hub_customer = delivered.dv_hashkey_hub_customer
            and ranked.dv_applied_timestamp = delivered.dv_applied_timestamp
            and ranked.dv_load_timestamp = delivered.dv_load_timestamp
            and ranked.dv_hashdiff = delivered.dv_hashdiff_sat_customer
            and ranked.dv_rectarget = delivered.dv_rectarget_sat_customer
    )
