-- Takes the rejected rows of a batch out of its staged rows. Touches staged rows of that batch.
delete from "STAGED"."BANK__ROWS"
where
    dv_batch_id = %(batch_id)s
    and dv_row_number in (
        select rejected.row_number
        from "CONTROL"."REJECTED_ROW" as rejected
        where rejected.batch_id = %(batch_id)s
    )
