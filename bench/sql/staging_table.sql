-- A table for the rows of the staging bench, with hashes stored as the project stores them.
create table written_rows (
    customer_id varchar,
    applied timestamp,
    name varchar,
    street varchar,
    city varchar,
    postcode varchar,
    tier bigint,
    balance decimal(12, 2),
    dv_hashkey blob using compression uncompressed,
    dv_hashdiff blob using compression uncompressed
)
