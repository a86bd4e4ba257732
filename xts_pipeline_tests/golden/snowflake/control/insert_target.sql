-- Makes a table of the vault known to its writers. Inserts one row, once.
insert into "CONTROL"."TARGET_TABLE" (target_table)
select %(target_table)s
where
    not exists (
        select 1
        from "CONTROL"."TARGET_TABLE" as known
        where known.target_table = %(target_table)s
    )
