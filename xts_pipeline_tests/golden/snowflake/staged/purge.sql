-- Drops the staged rows of batches that are done or abandoned, except the source's newest batch, and rows that were
-- never stamped and are too old to belong to a staging under way. Touches staged rows of one source.
delete from "STAGED"."BANK__ROWS"
where
    dv_batch_id in (
        select batch.batch_id
        from "CONTROL"."LOAD_BATCH" as batch
        where
            batch.source = %(source)s
            and batch.status <> 'open'
            and batch.load_timestamp < (
                select max(newest.load_timestamp)
                from "CONTROL"."LOAD_BATCH" as newest
                where
                    newest.source = %(source)s
                    and newest.status <> 'abandoned'
            )
    )
    or (
        dv_batch_id < %(unstamped_before)s
        and dv_batch_id not in (select batch.batch_id from "CONTROL"."LOAD_BATCH" as batch)
    )
