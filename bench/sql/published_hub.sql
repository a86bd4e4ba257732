-- The hub merge of the published cycle.
insert into hub_customer (
    dv_tenant_id,
    dv_hashkey_hub_customer,
    dv_load_timestamp,
    dv_applied_timestamp,
    dv_recordsource,
    customer_id
)
select distinct on (delivered.dv_hashkey_hub_customer)
    delivered.dv_tenant_id,
    delivered.dv_hashkey_hub_customer,
    delivered.dv_load_timestamp,
    delivered.dv_applied_timestamp,
    delivered.dv_recordsource,
    delivered.customer_id
from staged.bench as delivered
where
    delivered.dv_load_timestamp = $load_timestamp
    and not exists (
        select 1
        from hub_customer as known
        where known.dv_hashkey_hub_customer = delivered.dv_hashkey_hub_customer
    )
