-- The ledger of steps: one row a step of a batch, written with the batch's stamp and completed by the step itself.
create table if not exists "control"."load_step" (
    batch_id varchar not null,
    step varchar not null,
    step_order bigint not null,
    kind varchar not null, -- switch, xts, satellite, hub or link
    subject varchar not null, -- the satellite, hub reference or link it is about
    target_table varchar not null,
    shape varchar not null, -- the parent and columns it was staged for
    xts_assisted boolean not null,
    verdict varchar, -- normal or assisted
    rows_read bigint,
    keys_read bigint,
    late_rows bigint,
    late_keys bigint,
    corrected_rows bigint,
    rows_inserted bigint,
    rows_copied bigint,
    rows_scanned bigint, -- as the engine counted them; NULL where it does not say
    milliseconds bigint, -- from the mark of the step to its record
    marked_at timestamp, -- where a lock is a row
    recorded_at timestamp,
    recorded_by varchar
)
