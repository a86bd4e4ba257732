-- Remembers a column and its type. Inserts one row.
insert into "control"."table_column" (table_name, column_name, column_type, column_number)
values (
    $table_name,
    $column_name,
    $column_type,
    $column_number
)
