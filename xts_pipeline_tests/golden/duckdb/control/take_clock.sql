-- Begins a stamp: whoever changes the clock's row first stamps first, and another writer waits or must try again. Setting
-- a value to itself would be no change on DuckDB, hence the count. Touches the one row of control.clock.
update "control"."clock" set stamps_begun = stamps_begun + 1
