-- What a batch wrote to the XTS for one satellite. With `one_row_a_key`, a row is a key. Reads only.
select
    count(*) as rows_inserted,
    coalesce(sum(case when dv_sequence_violation then 1 else 0 end), 0) as late_rows,
    count(distinct "dv_hashkey_lnk_customer_account") as keys_read,
    count(distinct case when dv_sequence_violation then "dv_hashkey_lnk_customer_account" end) as late_keys
from "vault"."sat_xt_lnk_customer_account"
where
    dv_load_timestamp = $load_timestamp
    and dv_rectarget = $record_target
