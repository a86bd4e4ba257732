-- What is still to be run for tables that are remembered already, on an engine whose DDL is no part of a transaction:
-- written with the memory of the tables, dropped when it has been run.
create table if not exists "CONTROL"."PENDING_STATEMENT" (
    making_id varchar(64) not null,
    statement_order bigint not null,
    statement_name varchar(255) not null,
    statement varchar(16777216) not null,
    bound_values varchar(16777216) not null -- JSON
)
