-- The batch of this worksheet: a name of its own, and a load timestamp later than every one before, as long as one
-- worksheet or loader runs at a time. It is gone with the session. Touches no rows of the vault.
create or replace temporary table "STAGED"."XTS_BATCH" as
select
    'worksheet_' || to_char(sysdate(), 'YYYYMMDD"T"HH24MISSFF6') as batch_id,
    greatest(
        cast(sysdate() as timestamp_ntz(6)),
        coalesce(
            (
                select dateadd('microsecond', 1, max(xts.dv_load_timestamp))
                from "VAULT"."SAT_XT_LNK_CUSTOMER_ACCOUNT" as xts
            ),
            cast('1900-01-01' as timestamp_ntz(6))
        )
    ) as load_timestamp
