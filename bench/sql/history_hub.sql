-- The hub as its first day left it: every key, in order.
insert into hub_customer (
    dv_tenant_id,
    dv_hashkey_hub_customer,
    dv_load_timestamp,
    dv_applied_timestamp,
    dv_recordsource,
    customer_id
)
select
    null as dv_tenant_id,
    unhex(sha256('C' || lpad(cast(keys.k as varchar), 9, '0'))) as dv_hashkey,
    $load_timestamp as dv_load_timestamp,
    $applied_timestamp as dv_applied_timestamp,
    'BENCH' as dv_recordsource,
    'C' || lpad(cast(keys.k as varchar), 9, '0') as customer_id
from range($keys) as keys (k)
