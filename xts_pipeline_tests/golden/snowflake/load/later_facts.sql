-- Whether any fact with an earlier load stands at or after the batch's earliest applied timestamp, in the XTS or still
-- staged in an older open batch of the source: if none does, no row of the batch can be out of sequence. Reads only.
select
    (
        select count(*)
        from (
            select xts.dv_applied_timestamp
            from "VAULT"."SAT_XT_LNK_CUSTOMER_ACCOUNT" as xts
            where
                xts.dv_rectarget = %(record_target)s
                and xts.dv_load_timestamp < %(load_timestamp)s
                and xts.dv_applied_timestamp >= %(earliest_applied_timestamp)s
            limit 1
        ) as logged
    ) + (
        select count(*)
        from (
            select waiting.dv_applied_timestamp
            from "STAGED"."BANK__ROWS" as waiting
            inner join "CONTROL"."LOAD_BATCH" as batch
                on waiting.dv_batch_id = batch.batch_id
            where
                batch.source = %(source)s
                and batch.status = 'open'
                and batch.load_timestamp < %(load_timestamp)s
                and waiting."DV_RECTARGET_SAT_HOLDING" is not null
                and waiting.dv_applied_timestamp >= %(earliest_applied_timestamp)s
            limit 1
        ) as waiting_facts
    ) as later_facts
