-- Logs every hashdiff the batch states for one satellite, unchanged ones too: the heartbeats. Runs whatever the SWITCH
-- says. dv_sequence_violation is per row: the row is older than a fact of its key and record target with an earlier
-- load. With `nothing_later`, no fact stands where a row could be older than it. A key goes by its row's number where no
-- key is staged twice (`one_row_a_key`), else by its hash. Inserts rows of this batch's load timestamp and record target
-- alone.
insert into "VAULT"."SAT_XT_LNK_CUSTOMER_ACCOUNT" (
    dv_tenant_id,
    "DV_HASHKEY_LNK_CUSTOMER_ACCOUNT",
    dv_load_timestamp,
    dv_applied_timestamp,
    dv_recordsource,
    dv_hashdiff,
    dv_rectarget,
    dv_sequence_violation
)
with
facts as (
    select distinct
        "DV_HASHKEY_LNK_CUSTOMER_ACCOUNT" as dv_key,
        dv_tenant_id,
        "DV_HASHKEY_LNK_CUSTOMER_ACCOUNT" as dv_hashkey,
        dv_applied_timestamp,
        dv_recordsource,
        "DV_HASHDIFF_SAT_HOLDING" as dv_hashdiff,
        "DV_RECTARGET_SAT_HOLDING" as dv_rectarget
    from "STAGED"."BANK__ROWS"
    where
        dv_batch_id = %(batch_id)s
        and "DV_RECTARGET_SAT_HOLDING" is not null
),
touched as (
    select distinct
        dv_key,
        dv_hashkey
    from facts
),
newest as (
    select
        touched.dv_key,
        max(xts.dv_applied_timestamp) as newest_applied_timestamp
    from "VAULT"."SAT_XT_LNK_CUSTOMER_ACCOUNT" as xts
    inner join touched
        on xts."DV_HASHKEY_LNK_CUSTOMER_ACCOUNT" = touched.dv_hashkey
    where
        xts.dv_rectarget = %(record_target)s
        and xts.dv_load_timestamp < %(load_timestamp)s
        and xts.dv_applied_timestamp > %(earliest_applied_timestamp)s
    group by touched.dv_key
)
select
    facts.dv_tenant_id,
    facts.dv_hashkey,
    %(load_timestamp)s as dv_load_timestamp,
    facts.dv_applied_timestamp,
    facts.dv_recordsource,
    facts.dv_hashdiff,
    facts.dv_rectarget,
    coalesce(newest.newest_applied_timestamp > facts.dv_applied_timestamp, false) as dv_sequence_violation
from facts
left join newest
    on facts.dv_key = newest.dv_key
