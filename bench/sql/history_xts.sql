-- One day's heartbeats of every key in the XTS.
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
select
    null as dv_tenant_id,
    unhex(sha256(customer_id)) as dv_hashkey,
    $load_timestamp as dv_load_timestamp,
    $applied_timestamp as dv_applied_timestamp,
    'BENCH' as dv_recordsource,
    unhex(sha256(concat_ws('||', city, name, postcode, street, cast(tier as varchar)))) as dv_hashdiff,
    'sat_customer' as dv_rectarget,
    false as dv_sequence_violation
from states($keys, $day)
