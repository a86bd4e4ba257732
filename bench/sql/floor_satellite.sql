-- The floor: the satellite rows of the cycle, and nothing but the writing of them. Rows that the cycle restored, which
-- no delivery holds, were put beside the staged ones beforehand.
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
written as (
    select
        dv_tenant_id,
        dv_hashkey_hub_customer,
        dv_applied_timestamp,
        dv_recordsource,
        dv_hashdiff_sat_customer as dv_hashdiff,
        'insert' as dv_xts_event,
        name,
        street,
        city,
        postcode,
        tier
    from staged.bench__rows
    where dv_batch_id = $batch_id
    union all
    select
        dv_tenant_id,
        dv_hashkey_hub_customer,
        dv_applied_timestamp,
        dv_recordsource,
        dv_hashdiff,
        'copy' as dv_xts_event,
        name,
        street,
        city,
        postcode,
        tier
    from restored_rows
)
select
    dv_tenant_id,
    dv_hashkey_hub_customer,
    $load_timestamp as dv_load_timestamp,
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
from written
