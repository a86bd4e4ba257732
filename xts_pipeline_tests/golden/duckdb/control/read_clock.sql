-- The newest load timestamp ever given; NULL before the first. Reads only.
select newest_load_timestamp from "control"."clock"
