-- Records that a satellite's XTS speaks for it from now on. Touches that satellite's row.
update "CONTROL"."SATELLITE"
set xts_assisted = true
where satellite = %(satellite)s
