-- The floor of staging: DuckDB reads the same file and hashes each row, and keeps the largest hash alone.
select max(hashed.digest) as largest
from (
    select unhex(sha256(concat_ws('||', balance, city, customer_id, name, postcode, street, tier))) as digest
    from read_parquet($path)
) as hashed
