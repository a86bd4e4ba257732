-- The floor: the XTS rows of the cycle, and nothing but the writing of them.
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
    dv_tenant_id,
    dv_hashkey_hub_customer,
    $load_timestamp as dv_load_timestamp,
    dv_applied_timestamp,
    dv_recordsource,
    dv_hashdiff_sat_customer,
    dv_rectarget_sat_customer,
    $violation as dv_sequence_violation
from staged.bench__rows
where dv_batch_id = $batch_id
