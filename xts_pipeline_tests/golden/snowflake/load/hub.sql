-- Merges the batch's business keys into a hub: one row a key, and the first load wins. Inserts rows of this batch's
-- load timestamp alone. A hub is read without a bound on its load timestamp: whoever finishes first wins the row.
insert into "VAULT"."HUB_CUSTOMER" (
    dv_tenant_id,
    "DV_HASHKEY_HUB_CUSTOMER",
    dv_load_timestamp,
    dv_applied_timestamp,
    dv_recordsource
    , "CUSTOMER_ID"
)
select
    staged_rows.dv_tenant_id,
    staged_rows."DV_HASHKEY_HUB_CUSTOMER",
    %(load_timestamp)s as dv_load_timestamp,
    staged_rows.dv_applied_timestamp,
    staged_rows.dv_recordsource
    , staged_rows."CUSTOMER_ID"
from "STAGED"."BANK__ROWS" as staged_rows
left join "VAULT"."HUB_CUSTOMER" as known
    on staged_rows."DV_HASHKEY_HUB_CUSTOMER" = known."DV_HASHKEY_HUB_CUSTOMER"
where
    staged_rows.dv_batch_id = %(batch_id)s
    and staged_rows."DV_HASHKEY_HUB_CUSTOMER" is not null
    and known."DV_HASHKEY_HUB_CUSTOMER" is null
qualify
    row_number() over (
        partition by staged_rows."DV_HASHKEY_HUB_CUSTOMER"
        order by
            staged_rows.dv_applied_timestamp
            , staged_rows."CUSTOMER_ID" nulls last
    ) = 1
