-- Stages a batch from a table of the warehouse, by SQL alone: values cast to their declared types, hashes made by the
-- canonical rule as far as SQL can follow it (text in NFC, business keys in ASCII). Inserts the rows of this batch.
insert into "STAGED"."BANK__ROWS" (
    dv_batch_id,
    dv_row_number,
    dv_tenant_id,
    dv_recordsource,
    dv_applied_timestamp
    , "CUSTOMER_ID"
    , "ACCOUNT_ID"
    , "CITY"
    , "PHONE"
    , "SHARE"
    , "DV_HASHKEY_HUB_CUSTOMER"
    , "DV_HASHKEY_HUB_ACCOUNT"
    , "DV_HASHKEY_LNK_CUSTOMER_ACCOUNT"
    , "DV_HASHDIFF_SAT_ADDRESS"
    , "DV_HASHDIFF_SAT_CONTACT"
    , "DV_HASHDIFF_SAT_HOLDING"
    , "DV_RECTARGET_SAT_ADDRESS"
    , "DV_RECTARGET_SAT_CONTACT"
    , "DV_RECTARGET_SAT_HOLDING"
)
with
delivered as (
    select
        cast(convert_timezone('UTC', "DAY") as timestamp_ntz(6)) as dv_applied_timestamp
        , cast("CUSTOMER_ID" as varchar) as "CUSTOMER_ID"
        , cast("ACCOUNT_ID" as varchar) as "ACCOUNT_ID"
        , cast("CITY" as varchar) as "CITY"
        , cast("PHONE" as varchar) as "PHONE"
        , cast("SHARE" as varchar) as "SHARE"
    from "RAW"."BANK"
)
select
    %(batch_id)s as dv_batch_id,
    row_number() over (order by dv_applied_timestamp) as dv_row_number,
    %(tenant_id)s as dv_tenant_id,
    %(record_source)s as dv_recordsource,
    dv_applied_timestamp
    , "CUSTOMER_ID"
    , "ACCOUNT_ID"
    , "CITY"
    , "PHONE"
    , "SHARE"
    , sha2_binary(%(hash_prefix)s || coalesce(replace(replace(replace(translate(rtrim("CUSTOMER_ID", ' '), 'abcdefghijklmnopqrstuvwxyz', 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'), chr(92), chr(92) || chr(92)), '|', chr(92) || '|'), '^', chr(92) || '^'), '^^'), 256) as "DV_HASHKEY_HUB_CUSTOMER"
    , sha2_binary(%(hash_prefix)s || coalesce(replace(replace(replace(translate(rtrim("ACCOUNT_ID", ' '), 'abcdefghijklmnopqrstuvwxyz', 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'), chr(92), chr(92) || chr(92)), '|', chr(92) || '|'), '^', chr(92) || '^'), '^^'), 256) as "DV_HASHKEY_HUB_ACCOUNT"
    , sha2_binary(%(hash_prefix)s || coalesce(replace(replace(replace(translate(rtrim("CUSTOMER_ID", ' '), 'abcdefghijklmnopqrstuvwxyz', 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'), chr(92), chr(92) || chr(92)), '|', chr(92) || '|'), '^', chr(92) || '^'), '^^') || '||' || coalesce(replace(replace(replace(translate(rtrim("ACCOUNT_ID", ' '), 'abcdefghijklmnopqrstuvwxyz', 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'), chr(92), chr(92) || chr(92)), '|', chr(92) || '|'), '^', chr(92) || '^'), '^^'), 256) as "DV_HASHKEY_LNK_CUSTOMER_ACCOUNT"
    , sha2_binary(coalesce(replace(replace(replace(rtrim("CITY", ' '), chr(92), chr(92) || chr(92)), '|', chr(92) || '|'), '^', chr(92) || '^'), '^^'), 256) as "DV_HASHDIFF_SAT_ADDRESS"
    , sha2_binary(coalesce(replace(replace(replace(rtrim("PHONE", ' '), chr(92), chr(92) || chr(92)), '|', chr(92) || '|'), '^', chr(92) || '^'), '^^'), 256) as "DV_HASHDIFF_SAT_CONTACT"
    , sha2_binary(coalesce(replace(replace(replace(rtrim("SHARE", ' '), chr(92), chr(92) || chr(92)), '|', chr(92) || '|'), '^', chr(92) || '^'), '^^'), 256) as "DV_HASHDIFF_SAT_HOLDING"
    , %(record_target_1)s as "DV_RECTARGET_SAT_ADDRESS"
    , %(record_target_2)s as "DV_RECTARGET_SAT_CONTACT"
    , %(record_target_3)s as "DV_RECTARGET_SAT_HOLDING"
from delivered
