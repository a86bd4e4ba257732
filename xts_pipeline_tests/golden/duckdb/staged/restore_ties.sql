-- Lets every staged row of a batch speak for a satellite again, before ties are decided anew: a row that had overruled
-- others was rejected. Touches the record target column of staged rows of one batch.
update "staged"."bank__rows"
set "dv_rectarget_sat_holding" = $record_target
where
    dv_batch_id = $batch_id
    and "dv_rectarget_sat_holding" is null
