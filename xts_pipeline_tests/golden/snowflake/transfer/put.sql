put 'file:///folder/rows.parquet' @"STAGED"."XTS_FILES"/bank__rows/batch/ parallel = 8 auto_compress = false overwrite = true
