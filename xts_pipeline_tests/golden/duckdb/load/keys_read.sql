-- How many rows a batch has for one satellite, and of how many keys: where the counts are equal, each row is a state, and
-- nothing else has to be counted. Reads only.
select
    count(*) as rows_read,
    count(distinct "dv_hashkey_lnk_customer_account") as keys_read
from "staged"."bank__rows"
where
    dv_batch_id = $batch_id
    and "dv_rectarget_sat_holding" is not null
