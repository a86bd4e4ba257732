-- The warehouse's clock after the last day.
update control.clock
set newest_load_timestamp = $load_timestamp
