-- Drops the rejected rows of stagings that died before their stamp. Touches rejected rows of batches the ledger has not.
delete from "CONTROL"."REJECTED_ROW"
where
    batch_id < %(unstamped_before)s
    and batch_id not in (select batch.batch_id from "CONTROL"."LOAD_BATCH" as batch)
