-- The ledger of steps: one row a step of a batch, written with the batch's stamp and completed by the step itself.
create table if not exists "CONTROL"."LOAD_STEP" (
    batch_id varchar(64) not null,
    step varchar(600) not null,
    step_order bigint not null,
    kind varchar(16) not null, -- switch, xts, satellite, hub or link
    subject varchar(255) not null, -- the satellite, hub reference or link it is about
    target_table varchar(512) not null,
    shape varchar(16777216) not null, -- the parent and columns it was staged for
    xts_assisted boolean not null,
    verdict varchar(16), -- normal or assisted
    rows_read bigint,
    keys_read bigint,
    late_rows bigint,
    late_keys bigint,
    corrected_rows bigint,
    rows_inserted bigint,
    rows_copied bigint,
    rows_scanned bigint, -- as the engine counted them; NULL where it does not say
    milliseconds bigint, -- from the mark of the step to its record
    marked_at timestamp_ntz(6), -- where a lock is a row
    recorded_at timestamp_ntz(6),
    recorded_by varchar(255)
)
