-- Gives a satellite its one ghost record: the zero hash key, dv_sid 0, applied 1900-01-01. PITs join it for keys that
-- have no state yet. Inserts that row, once.
insert into "VAULT"."SAT_HOLDING" (
    dv_tenant_id,
    "DV_HASHKEY_LNK_CUSTOMER_ACCOUNT",
    dv_load_timestamp,
    dv_applied_timestamp,
    dv_recordsource,
    dv_hashdiff,
    dv_sid,
    dv_xts_event
)
select
    null as dv_tenant_id,
    to_binary(repeat('00', 32), 'HEX') as dv_hashkey,
    cast('1900-01-01' as timestamp_ntz(6)) as dv_load_timestamp,
    cast('1900-01-01' as timestamp_ntz(6)) as dv_applied_timestamp,
    'GHOST' as dv_recordsource,
    to_binary(repeat('00', 32), 'HEX') as dv_hashdiff,
    0 as dv_sid,
    null as dv_xts_event
where
    not exists (
        select 1
        from "VAULT"."SAT_HOLDING" as known
        where known.dv_sid = 0
    )
