-- The fingerprint of a batch that was staged by SQL: sums over its rows, so that their order does not matter. Reads only.
select
    count(*) as dv_rows,
    cast(sum(md5_number_lower("dv_row_text")) as varchar) as dv_low,
    cast(sum(md5_number_upper("dv_row_text")) as varchar) as dv_high
from (
    select
        lower(hex("dv_hashkey_hub_customer")) ||
        lower(hex("dv_hashkey_hub_account")) ||
        lower(hex("dv_hashkey_lnk_customer_account")) ||
        lower(hex("dv_hashdiff_sat_address")) ||
        lower(hex("dv_hashdiff_sat_contact")) ||
        lower(hex("dv_hashdiff_sat_holding")) ||
        strftime("dv_applied_timestamp", '%Y-%m-%dT%H:%M:%S.%f')
        || coalesce(rtrim("share", ' '), '^^')
        as dv_row_text
    from "staged"."bank__rows"
    where dv_batch_id = $batch_id
) as digested
