-- Lets every staged row of a batch speak for a satellite again, before ties are decided anew: a row that had overruled
-- others was rejected. Touches the record target column of staged rows of one batch.
update "STAGED"."BANK__ROWS"
set "DV_RECTARGET_SAT_HOLDING" = %(record_target)s
where
    dv_batch_id = %(batch_id)s
    and "DV_RECTARGET_SAT_HOLDING" is null
