-- The columns of every table made so far, in the order they came. Reads only.
select
    table_name,
    column_name,
    column_type
from "CONTROL"."TABLE_COLUMN"
order by
    table_name,
    column_number
