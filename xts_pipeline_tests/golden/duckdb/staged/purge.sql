-- Drops the staged rows of batches that are done or abandoned, except the source's newest batch, and rows that were
-- never stamped and are too old to belong to a staging under way. Touches staged rows of one source.
delete from "staged"."bank__rows"
where
    dv_batch_id in (
        select batch.batch_id
        from "control"."load_batch" as batch
        where
            batch.source = $source
            and batch.status <> 'open'
            and batch.load_timestamp < (
                select max(newest.load_timestamp)
                from "control"."load_batch" as newest
                where
                    newest.source = $source
                    and newest.status <> 'abandoned'
            )
    )
    or (
        dv_batch_id < $unstamped_before
        and dv_batch_id not in (select batch.batch_id from "control"."load_batch" as batch)
    )
