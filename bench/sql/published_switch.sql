-- The published SWITCH: the newest applied timestamp of the batch against that of the satellite.
select
    (select max(dv_applied_timestamp) from staged.bench where dv_load_timestamp = $load_timestamp)
    < (select max(dv_applied_timestamp) from sat_customer) as out_of_sequence
