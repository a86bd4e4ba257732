-- Merges the batch's business keys into a hub: one row a key, and the first load wins. Inserts rows of this batch's
-- load timestamp alone. A hub is read without a bound on its load timestamp: whoever finishes first wins the row.
insert into "vault"."hub_customer" (
    dv_tenant_id,
    "dv_hashkey_hub_customer",
    dv_load_timestamp,
    dv_applied_timestamp,
    dv_recordsource
    , "customer_id"
)
select
    staged_rows.dv_tenant_id,
    staged_rows."dv_hashkey_hub_customer",
    $load_timestamp as dv_load_timestamp,
    staged_rows.dv_applied_timestamp,
    staged_rows.dv_recordsource
    , staged_rows."customer_id"
from "staged"."bank__rows" as staged_rows
left join "vault"."hub_customer" as known
    on staged_rows."dv_hashkey_hub_customer" = known."dv_hashkey_hub_customer"
where
    staged_rows.dv_batch_id = $batch_id
    and staged_rows."dv_hashkey_hub_customer" is not null
    and known."dv_hashkey_hub_customer" is null
qualify
    row_number() over (
        partition by staged_rows."dv_hashkey_hub_customer"
        order by
            staged_rows.dv_applied_timestamp
            , staged_rows."customer_id" nulls last
    ) = 1
