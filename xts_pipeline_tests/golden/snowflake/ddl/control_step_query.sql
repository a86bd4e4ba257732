-- The queries of a step, on an engine that gives queries an id: one row a step that was done, written with it.
create table if not exists "CONTROL"."STEP_QUERY" (
    batch_id varchar(64) not null,
    step varchar(600) not null, -- `stage` for the staging
    queries varchar(16777216) not null -- JSON: statement, query id and rows of each, in their order
)
