-- What the XTS of one hub or link holds for each record target: facts, sequence violations, the newest heartbeat, and the
-- newest load that brought a violation. Reads only.
select
    dv_rectarget as record_target,
    count(*) as facts,
    max(dv_applied_timestamp) as newest_heartbeat,
    coalesce(sum(case when dv_sequence_violation then 1 else 0 end), 0) as violations,
    count(distinct case when dv_sequence_violation then "DV_HASHKEY_LNK_CUSTOMER_ACCOUNT" end) as violated_keys,
    max(case when dv_sequence_violation then dv_load_timestamp end) as newest_violation
from "VAULT"."SAT_XT_LNK_CUSTOMER_ACCOUNT"
group by dv_rectarget
order by dv_rectarget
