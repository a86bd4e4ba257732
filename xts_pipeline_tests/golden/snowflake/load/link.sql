-- Merges the batch's combinations of business keys into a link: one row a combination, and the first load wins. Inserts
-- rows of this batch's load timestamp alone.
insert into "VAULT"."LNK_CUSTOMER_ACCOUNT" (
    dv_tenant_id,
    "DV_HASHKEY_LNK_CUSTOMER_ACCOUNT",
    dv_load_timestamp,
    dv_applied_timestamp,
    dv_recordsource
    , "DV_HASHKEY_HUB_CUSTOMER"
    , "DV_HASHKEY_HUB_ACCOUNT"
)
select
    staged_rows.dv_tenant_id,
    staged_rows."DV_HASHKEY_LNK_CUSTOMER_ACCOUNT",
    %(load_timestamp)s as dv_load_timestamp,
    staged_rows.dv_applied_timestamp,
    staged_rows.dv_recordsource
    , staged_rows."DV_HASHKEY_HUB_CUSTOMER"
    , staged_rows."DV_HASHKEY_HUB_ACCOUNT"
from "STAGED"."BANK__ROWS" as staged_rows
left join "VAULT"."LNK_CUSTOMER_ACCOUNT" as known
    on staged_rows."DV_HASHKEY_LNK_CUSTOMER_ACCOUNT" = known."DV_HASHKEY_LNK_CUSTOMER_ACCOUNT"
where
    staged_rows.dv_batch_id = %(batch_id)s
    and staged_rows."DV_HASHKEY_LNK_CUSTOMER_ACCOUNT" is not null
    and known."DV_HASHKEY_LNK_CUSTOMER_ACCOUNT" is null
qualify
    row_number() over (
        partition by staged_rows."DV_HASHKEY_LNK_CUSTOMER_ACCOUNT"
        order by
            staged_rows.dv_applied_timestamp
            , staged_rows."DV_HASHKEY_HUB_CUSTOMER"
            , staged_rows."DV_HASHKEY_HUB_ACCOUNT"
    ) = 1
