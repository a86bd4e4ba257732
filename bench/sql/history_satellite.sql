-- One day's changes in the satellite.
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
select
    null as dv_tenant_id,
    unhex(sha256(customer_id)) as dv_hashkey,
    $load_timestamp as dv_load_timestamp,
    $applied_timestamp as dv_applied_timestamp,
    'BENCH' as dv_recordsource,
    unhex(sha256(concat_ws('||', city, name, postcode, street, cast(tier as varchar)))) as dv_hashdiff,
    (select coalesce(max(numbered.dv_sid), 0) from sat_customer as numbered) + row_number() over () as dv_sid,
    'insert' as dv_xts_event,
    name,
    street,
    city,
    postcode,
    tier
from states($keys, $day)
where changed_on = $day
