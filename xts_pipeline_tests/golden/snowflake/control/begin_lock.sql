-- Gives a lock its one row. Inserts one row, once.
insert into "CONTROL"."LOCK_OF_SOURCE_BANK" (marked_at)
select cast(null as timestamp_ntz(6))
where not exists (select 1 from "CONTROL"."LOCK_OF_SOURCE_BANK")
