-- Stages a batch from a table of the warehouse, by SQL alone: values cast to their declared types, hashes made by the
-- canonical rule as far as SQL can follow it (text in NFC, business keys in ASCII). Inserts the rows of this batch.
insert into "staged"."bank__rows" (
    dv_batch_id,
    dv_row_number,
    dv_tenant_id,
    dv_recordsource,
    dv_applied_timestamp
    , "customer_id"
    , "account_id"
    , "city"
    , "phone"
    , "share"
    , "dv_hashkey_hub_customer"
    , "dv_hashkey_hub_account"
    , "dv_hashkey_lnk_customer_account"
    , "dv_hashdiff_sat_address"
    , "dv_hashdiff_sat_contact"
    , "dv_hashdiff_sat_holding"
    , "dv_rectarget_sat_address"
    , "dv_rectarget_sat_contact"
    , "dv_rectarget_sat_holding"
)
with
delivered as (
    select
        cast("day" as timestamp) as dv_applied_timestamp
        , cast("customer_id" as varchar) as "customer_id"
        , cast("account_id" as varchar) as "account_id"
        , cast("city" as varchar) as "city"
        , cast("phone" as varchar) as "phone"
        , cast("share" as varchar) as "share"
    from "raw"."bank"
)
select
    $batch_id as dv_batch_id,
    row_number() over (order by dv_applied_timestamp) as dv_row_number,
    $tenant_id as dv_tenant_id,
    $record_source as dv_recordsource,
    dv_applied_timestamp
    , "customer_id"
    , "account_id"
    , "city"
    , "phone"
    , "share"
    , unhex(sha256($hash_prefix || coalesce(replace(replace(replace(translate(rtrim("customer_id", ' '), 'abcdefghijklmnopqrstuvwxyz', 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'), chr(92), chr(92) || chr(92)), '|', chr(92) || '|'), '^', chr(92) || '^'), '^^'))) as "dv_hashkey_hub_customer"
    , unhex(sha256($hash_prefix || coalesce(replace(replace(replace(translate(rtrim("account_id", ' '), 'abcdefghijklmnopqrstuvwxyz', 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'), chr(92), chr(92) || chr(92)), '|', chr(92) || '|'), '^', chr(92) || '^'), '^^'))) as "dv_hashkey_hub_account"
    , unhex(sha256($hash_prefix || coalesce(replace(replace(replace(translate(rtrim("customer_id", ' '), 'abcdefghijklmnopqrstuvwxyz', 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'), chr(92), chr(92) || chr(92)), '|', chr(92) || '|'), '^', chr(92) || '^'), '^^') || '||' || coalesce(replace(replace(replace(translate(rtrim("account_id", ' '), 'abcdefghijklmnopqrstuvwxyz', 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'), chr(92), chr(92) || chr(92)), '|', chr(92) || '|'), '^', chr(92) || '^'), '^^'))) as "dv_hashkey_lnk_customer_account"
    , unhex(sha256(coalesce(replace(replace(replace(rtrim("city", ' '), chr(92), chr(92) || chr(92)), '|', chr(92) || '|'), '^', chr(92) || '^'), '^^'))) as "dv_hashdiff_sat_address"
    , unhex(sha256(coalesce(replace(replace(replace(rtrim("phone", ' '), chr(92), chr(92) || chr(92)), '|', chr(92) || '|'), '^', chr(92) || '^'), '^^'))) as "dv_hashdiff_sat_contact"
    , unhex(sha256(coalesce(replace(replace(replace(rtrim("share", ' '), chr(92), chr(92) || chr(92)), '|', chr(92) || '|'), '^', chr(92) || '^'), '^^'))) as "dv_hashdiff_sat_holding"
    , $record_target_1 as "dv_rectarget_sat_address"
    , $record_target_2 as "dv_rectarget_sat_contact"
    , $record_target_3 as "dv_rectarget_sat_holding"
from delivered
