-- The fingerprint of a batch that was staged by SQL: sums over its rows, so that their order does not matter. Reads only.
select
    count(*) as dv_rows,
    cast(sum(md5_number_lower64("DV_ROW_TEXT")) as varchar) as dv_low,
    cast(sum(md5_number_upper64("DV_ROW_TEXT")) as varchar) as dv_high
from (
    select
        lower(hex_encode("DV_HASHKEY_HUB_CUSTOMER")) ||
        lower(hex_encode("DV_HASHKEY_HUB_ACCOUNT")) ||
        lower(hex_encode("DV_HASHKEY_LNK_CUSTOMER_ACCOUNT")) ||
        lower(hex_encode("DV_HASHDIFF_SAT_ADDRESS")) ||
        lower(hex_encode("DV_HASHDIFF_SAT_CONTACT")) ||
        lower(hex_encode("DV_HASHDIFF_SAT_HOLDING")) ||
        to_char(cast("DV_APPLIED_TIMESTAMP" as timestamp_ntz(6)), 'YYYY-MM-DD"T"HH24:MI:SS.FF6')
        || coalesce(rtrim("SHARE", ' '), '^^')
        as dv_row_text
    from "STAGED"."BANK__ROWS"
    where dv_batch_id = %(batch_id)s
) as digested
