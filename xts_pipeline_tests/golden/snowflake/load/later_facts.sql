-- Whether any fact with an earlier load stands at or after the batch's earliest applied timestamp: if none does, no row
-- of the batch can be out of sequence. Reads only.
select count(*) as later_facts
from (
    select xts.dv_applied_timestamp
    from "VAULT"."SAT_XT_LNK_CUSTOMER_ACCOUNT" as xts
    where
        xts.dv_rectarget = %(record_target)s
        and xts.dv_load_timestamp < %(load_timestamp)s
        and xts.dv_applied_timestamp >= %(earliest_applied_timestamp)s
    limit 1
) as found
