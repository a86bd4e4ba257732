-- What a batch wrote to the XTS for one satellite. With `one_row_a_key`, a row is a key. Reads only.
select
    count(*) as rows_inserted,
    coalesce(sum(case when dv_sequence_violation then 1 else 0 end), 0) as late_rows,
    count(distinct "DV_HASHKEY_LNK_CUSTOMER_ACCOUNT") as keys_read,
    count(distinct case when dv_sequence_violation then "DV_HASHKEY_LNK_CUSTOMER_ACCOUNT" end) as late_keys
from "VAULT"."SAT_XT_LNK_CUSTOMER_ACCOUNT"
where
    dv_load_timestamp = %(load_timestamp)s
    and dv_rectarget = %(record_target)s
