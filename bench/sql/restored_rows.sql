-- The rows that a cycle restored, for the floor to write them again.
select
    dv_tenant_id,
    dv_hashkey_hub_customer,
    dv_applied_timestamp,
    dv_recordsource,
    dv_hashdiff,
    name,
    street,
    city,
    postcode,
    tier
from sat_customer
where
    dv_load_timestamp = $load_timestamp
    and dv_xts_event = 'copy'
