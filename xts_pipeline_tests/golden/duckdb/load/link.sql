-- Merges the batch's combinations of business keys into a link: one row a combination, and the first load wins. Inserts
-- rows of this batch's load timestamp alone.
insert into "vault"."lnk_customer_account" (
    dv_tenant_id,
    "dv_hashkey_lnk_customer_account",
    dv_load_timestamp,
    dv_applied_timestamp,
    dv_recordsource
    , "dv_hashkey_hub_customer"
    , "dv_hashkey_hub_account"
)
select
    staged_rows.dv_tenant_id,
    staged_rows."dv_hashkey_lnk_customer_account",
    $load_timestamp as dv_load_timestamp,
    staged_rows.dv_applied_timestamp,
    staged_rows.dv_recordsource
    , staged_rows."dv_hashkey_hub_customer"
    , staged_rows."dv_hashkey_hub_account"
from "staged"."bank__rows" as staged_rows
left join "vault"."lnk_customer_account" as known
    on staged_rows."dv_hashkey_lnk_customer_account" = known."dv_hashkey_lnk_customer_account"
where
    staged_rows.dv_batch_id = $batch_id
    and staged_rows."dv_hashkey_lnk_customer_account" is not null
    and known."dv_hashkey_lnk_customer_account" is null
qualify
    row_number() over (
        partition by staged_rows."dv_hashkey_lnk_customer_account"
        order by
            staged_rows.dv_applied_timestamp
            , staged_rows."dv_hashkey_hub_customer"
            , staged_rows."dv_hashkey_hub_account"
    ) = 1
