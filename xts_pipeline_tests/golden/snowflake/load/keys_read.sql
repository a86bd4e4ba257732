-- How many rows a batch has for one satellite, and of how many keys: where the counts are equal, each row is a state, and
-- nothing else has to be counted. Reads only.
select
    count(*) as rows_read,
    count(distinct "DV_HASHKEY_LNK_CUSTOMER_ACCOUNT") as keys_read
from "STAGED"."BANK__ROWS"
where
    dv_batch_id = %(batch_id)s
    and "DV_RECTARGET_SAT_HOLDING" is not null
