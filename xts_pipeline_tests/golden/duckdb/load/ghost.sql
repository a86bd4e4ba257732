-- Gives a satellite its one ghost record: the zero hash key, dv_sid 0, applied 1900-01-01. PITs join it for keys that
-- have no state yet. Inserts that row, once.
insert into "vault"."sat_holding" (
    dv_tenant_id,
    "dv_hashkey_lnk_customer_account",
    dv_load_timestamp,
    dv_applied_timestamp,
    dv_recordsource,
    dv_hashdiff,
    dv_sid,
    dv_xts_event
)
select
    null as dv_tenant_id,
    unhex(repeat('00', 32)) as dv_hashkey,
    cast('1900-01-01' as timestamp) as dv_load_timestamp,
    cast('1900-01-01' as timestamp) as dv_applied_timestamp,
    'GHOST' as dv_recordsource,
    unhex(repeat('00', 32)) as dv_hashdiff,
    0 as dv_sid,
    null as dv_xts_event
where
    not exists (
        select 1
        from "vault"."sat_holding" as known
        where known.dv_sid = 0
    )
