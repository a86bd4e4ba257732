-- Makes a table of the vault known to its writers. Inserts one row, once.
insert into "control"."target_table" (target_table)
select $target_table
where
    not exists (
        select 1
        from "control"."target_table" as known
        where known.target_table = $target_table
    )
