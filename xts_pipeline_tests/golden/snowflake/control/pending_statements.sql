-- The statements that are still to be run, in their order. Reads only.
select
    making_id,
    statement_order,
    statement_name,
    statement,
    bound_values
from "CONTROL"."PENDING_STATEMENT"
order by making_id, statement_order
