-- The least that a load must read of a history that is not indexed: which of the batch's keys the hub has, and which have
-- facts since the day before the batch's own. No hashdiff is read, nothing is compared. Writes nothing.
with
keys as (
    select dv_hashkey_hub_customer
    from staged.bench__rows
    where dv_batch_id = $batch_id
)
select
    (
        select count(*)
        from hub_customer as known
        where known.dv_hashkey_hub_customer in (select keys.dv_hashkey_hub_customer from keys)
    ) as known_keys,
    (
        select count(*)
        from sat_xt_hub_customer as xts
        where
            xts.dv_applied_timestamp >= $since
            and xts.dv_hashkey_hub_customer in (select keys.dv_hashkey_hub_customer from keys)
    ) as recent_facts
