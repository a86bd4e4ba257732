-- Staging without any care: the same columns and both hashes, written to a table.
insert into written_rows by name
select
    *,
    unhex(sha256(upper(customer_id))) as dv_hashkey,
    unhex(sha256(concat_ws('||', balance, city, name, postcode, street, tier))) as dv_hashdiff
from read_parquet($path)
