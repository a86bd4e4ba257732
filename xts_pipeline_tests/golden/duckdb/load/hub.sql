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
with
known_keys as (
    select known."dv_hashkey_hub_customer" as dv_hashkey
    from "vault"."hub_customer" as known
    where
        known."dv_hashkey_hub_customer" in (
            select delivered."dv_hashkey_hub_customer"
            from "staged"."bank__rows" as delivered
            where delivered.dv_batch_id = $batch_id
        )
)
select
    staged_rows.dv_tenant_id,
    staged_rows."dv_hashkey_hub_customer",
    $load_timestamp as dv_load_timestamp,
    staged_rows.dv_applied_timestamp,
    staged_rows.dv_recordsource
    , staged_rows."customer_id"
from "staged"."bank__rows" as staged_rows
left join known_keys
    on staged_rows."dv_hashkey_hub_customer" = known_keys.dv_hashkey
where
    staged_rows.dv_batch_id = $batch_id
    and staged_rows."dv_hashkey_hub_customer" is not null
    and known_keys.dv_hashkey is null
qualify
    row_number() over (
        partition by staged_rows."dv_hashkey_hub_customer"
        order by
            staged_rows.dv_applied_timestamp
            , staged_rows."customer_id" nulls last
    ) = 1
