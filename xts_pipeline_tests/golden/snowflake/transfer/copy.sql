-- Appends the rows of uploaded files to a table of the staged or control schema, and drops the files from the stage. All
-- values but truth values and numbers travel as text, and bytes as hexadecimal text: it is cast here, where no file
-- format can mistake it. A null_if of its own, since the default would take the text \N for NULL. Inserts rows there.
copy into "STAGED"."BANK__ROWS" (
    "DV_BATCH_ID",
    "DV_ROW_NUMBER",
    "DV_TENANT_ID",
    "DV_RECORDSOURCE",
    "DV_APPLIED_TIMESTAMP",
    "CUSTOMER_ID",
    "ACCOUNT_ID",
    "CITY",
    "PHONE",
    "SHARE",
    "DV_HASHKEY_HUB_CUSTOMER",
    "DV_HASHKEY_HUB_ACCOUNT",
    "DV_HASHKEY_LNK_CUSTOMER_ACCOUNT",
    "DV_HASHDIFF_SAT_ADDRESS",
    "DV_HASHDIFF_SAT_CONTACT",
    "DV_HASHDIFF_SAT_HOLDING",
    "DV_RECTARGET_SAT_ADDRESS",
    "DV_RECTARGET_SAT_CONTACT",
    "DV_RECTARGET_SAT_HOLDING"
)
from (
    select
        $1:"DV_BATCH_ID"::varchar,
        $1:"DV_ROW_NUMBER"::number(19, 0),
        $1:"DV_TENANT_ID"::varchar,
        $1:"DV_RECORDSOURCE"::varchar,
        $1:"DV_APPLIED_TIMESTAMP"::varchar::timestamp_ntz(6),
        $1:"CUSTOMER_ID"::varchar,
        $1:"ACCOUNT_ID"::varchar,
        $1:"CITY"::varchar,
        $1:"PHONE"::varchar,
        $1:"SHARE"::varchar,
        to_binary($1:"DV_HASHKEY_HUB_CUSTOMER"::varchar, 'HEX'),
        to_binary($1:"DV_HASHKEY_HUB_ACCOUNT"::varchar, 'HEX'),
        to_binary($1:"DV_HASHKEY_LNK_CUSTOMER_ACCOUNT"::varchar, 'HEX'),
        to_binary($1:"DV_HASHDIFF_SAT_ADDRESS"::varchar, 'HEX'),
        to_binary($1:"DV_HASHDIFF_SAT_CONTACT"::varchar, 'HEX'),
        to_binary($1:"DV_HASHDIFF_SAT_HOLDING"::varchar, 'HEX'),
        $1:"DV_RECTARGET_SAT_ADDRESS"::varchar,
        $1:"DV_RECTARGET_SAT_CONTACT"::varchar,
        $1:"DV_RECTARGET_SAT_HOLDING"::varchar
    from @"STAGED"."XTS_FILES"/bank__rows/batch/
)
file_format = (type = parquet, null_if = ())
on_error = abort_statement
purge = true
