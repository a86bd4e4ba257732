-- Records the stamp just given. Touches the one row of control.clock.
update "CONTROL"."CLOCK" set newest_load_timestamp = %(load_timestamp)s
