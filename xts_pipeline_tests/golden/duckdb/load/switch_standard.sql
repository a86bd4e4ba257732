-- The figures of a satellite that keeps no XTS: how many staged rows are older than their key's newest row. Nothing
-- puts those in their place; they are counted and reported. Reads only.
with
facts as (
    select distinct
        "dv_hashkey_hub_customer" as dv_hashkey,
        dv_applied_timestamp,
        "dv_hashdiff_sat_contact" as dv_hashdiff
    from "staged"."bank__rows"
    where
        dv_batch_id = $batch_id
        and "dv_rectarget_sat_contact" is not null
),
newest as (
    select
        known."dv_hashkey_hub_customer" as dv_hashkey,
        max(known.dv_applied_timestamp) as newest_applied_timestamp
    from "vault"."sat_contact" as known
    where
        known.dv_sid <> 0
        and known.dv_load_timestamp < $load_timestamp
        and known."dv_hashkey_hub_customer" in (select facts.dv_hashkey from facts)
    group by known."dv_hashkey_hub_customer"
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
