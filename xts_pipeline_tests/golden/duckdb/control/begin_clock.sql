-- Gives the warehouse's clock its one row. Inserts one row, once.
insert into "control"."clock" (newest_load_timestamp, stamps_begun)
select
    null,
    0
where not exists (select 1 from "control"."clock")
