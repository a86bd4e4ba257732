-- The columns of every table made so far. Reads only.
select
    table_name,
    column_name,
    column_type
from "CONTROL"."TABLE_COLUMN"
