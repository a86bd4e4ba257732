-- Writes down a statement that is to be run. Inserts one row.
insert into "CONTROL"."PENDING_STATEMENT" (making_id, statement_order, statement_name, statement, bound_values)
values (
    %(making_id)s,
    %(statement_order)s,
    %(statement_name)s,
    %(statement)s,
    %(bound_values)s
)
