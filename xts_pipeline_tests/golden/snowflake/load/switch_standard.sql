-- The figures of a satellite that keeps no XTS: how many staged rows are older than their key's newest row. Nothing
-- puts those in their place; they are counted and reported. Reads only.
with
facts as (
    select distinct
        "DV_HASHKEY_HUB_CUSTOMER" as dv_hashkey,
        dv_applied_timestamp,
        "DV_HASHDIFF_SAT_CONTACT" as dv_hashdiff
    from "STAGED"."BANK__ROWS"
    where
        dv_batch_id = %(batch_id)s
        and "DV_RECTARGET_SAT_CONTACT" is not null
),
newest as (
    select
        known."DV_HASHKEY_HUB_CUSTOMER" as dv_hashkey,
        max(known.dv_applied_timestamp) as newest_applied_timestamp
    from "VAULT"."SAT_CONTACT" as known
    where
        known.dv_sid <> 0
        and known.dv_load_timestamp < %(load_timestamp)s
        and known."DV_HASHKEY_HUB_CUSTOMER" in (select facts.dv_hashkey from facts)
    group by known."DV_HASHKEY_HUB_CUSTOMER"
),
judged as (
    select
        facts.dv_hashkey,
        coalesce(newest.newest_applied_timestamp > facts.dv_applied_timestamp, false) as is_late
    from facts
    left join newest
        on facts.dv_hashkey = newest.dv_hashkey
)
select
    count(*) as rows_read,
    count(distinct dv_hashkey) as keys_read,
    coalesce(sum(case when is_late then 1 else 0 end), 0) as late_rows,
    count(distinct case when is_late then dv_hashkey end) as late_keys,
    0 as corrected_rows
from judged
