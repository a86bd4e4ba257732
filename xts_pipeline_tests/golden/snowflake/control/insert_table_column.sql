-- Remembers a column and its type. Inserts one row.
insert into "CONTROL"."TABLE_COLUMN" (table_name, column_name, column_type, column_number)
values (
    %(table_name)s,
    %(column_name)s,
    %(column_type)s,
    %(column_number)s
)
