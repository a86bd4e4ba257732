-- Records the stamp just given. Touches the one row of control.clock.
update "control"."clock" set newest_load_timestamp = $load_timestamp
