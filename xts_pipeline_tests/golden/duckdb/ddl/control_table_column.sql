-- The columns of every table that was made for a source, with the type each has had since: declared, or inferred from
-- the first batch that held it. They are numbered as they came, so that a row can be told from columns younger than it.
create table if not exists "control"."table_column" (
    table_name varchar not null,
    column_name varchar not null,
    column_type varchar not null,
    column_number bigint not null
)
