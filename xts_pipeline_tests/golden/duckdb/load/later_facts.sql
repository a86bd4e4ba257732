-- Whether any fact with an earlier load stands at or after the batch's earliest applied timestamp, in the XTS or still
-- staged in an older open batch of the source: if none does, no row of the batch can be out of sequence. Reads only.
select
    (
        select count(*)
        from (
            select xts.dv_applied_timestamp
            from "vault"."sat_xt_lnk_customer_account" as xts
            where
                xts.dv_rectarget = $record_target
                and xts.dv_load_timestamp < $load_timestamp
                and xts.dv_applied_timestamp >= $earliest_applied_timestamp
            limit 1
        ) as logged
    ) + (
        select count(*)
        from (
            select waiting.dv_applied_timestamp
            from "staged"."bank__rows" as waiting
            inner join "control"."load_batch" as batch
                on waiting.dv_batch_id = batch.batch_id
            where
                batch.source = $source
                and batch.status = 'open'
                and batch.load_timestamp < $load_timestamp
                and waiting."dv_rectarget_sat_holding" is not null
                and waiting.dv_applied_timestamp >= $earliest_applied_timestamp
            limit 1
        ) as waiting_facts
    ) as later_facts
