-- A delivery of eight columns in a Parquet file.
copy (
    select
        customer_id,
        timestamp '2024-02-01' as applied,
        name,
        street,
        city,
        postcode,
        tier,
        cast((k % 100000) / 100.0 as decimal(12, 2)) as balance
    from states($keys, 5)
) to $path (format parquet)
