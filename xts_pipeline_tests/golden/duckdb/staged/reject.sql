-- Takes the rejected rows of a batch out of its staged rows. Touches staged rows of that batch.
delete from "staged"."bank__rows"
where
    dv_batch_id = $batch_id
    and dv_row_number in (
        select rejected.row_number
        from "control"."rejected_row" as rejected
        where rejected.batch_id = $batch_id
    )
