-- Drops the rejected rows of stagings that died before their stamp. Touches rejected rows of batches the ledger has not.
delete from "control"."rejected_row"
where
    batch_id < $unstamped_before
    and batch_id not in (select batch.batch_id from "control"."load_batch" as batch)
