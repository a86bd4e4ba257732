-- Lets the tie-break decide: of the states of one key at one applied timestamp, the one with the greatest value of the
-- declared column remains; the others no longer speak for this satellite. Left alone are ties that the column cannot
-- decide: it is NULL in one of the rows, or its greatest value stands beside two states. Touches the record target
-- column of staged rows of one batch.
update "STAGED"."BANK__ROWS"
set "DV_RECTARGET_SAT_HOLDING" = null
where
    dv_batch_id = %(batch_id)s
    and dv_row_number in (
        with
        tied as (
            select
                dv_row_number,
                "DV_HASHKEY_LNK_CUSTOMER_ACCOUNT" as dv_hashkey,
                dv_applied_timestamp,
                "DV_HASHDIFF_SAT_HOLDING" as dv_hashdiff,
                "SHARE" as tie_break
            from "STAGED"."BANK__ROWS"
            where dv_batch_id = %(batch_id)s
        ),
        greatest_values as (
            select
                dv_hashkey,
                dv_applied_timestamp,
                max(tie_break) as greatest_tie_break
            from tied
            group by dv_hashkey, dv_applied_timestamp
            having
                count(distinct dv_hashdiff) > 1
                and count(*) = count(tie_break)
        ),
        winners as (
            select
                tied.dv_hashkey,
                tied.dv_applied_timestamp,
                min(tied.dv_hashdiff) as dv_hashdiff
            from tied
            inner join greatest_values
                on tied.dv_hashkey = greatest_values.dv_hashkey
                and tied.dv_applied_timestamp = greatest_values.dv_applied_timestamp
                and tied.tie_break = greatest_values.greatest_tie_break
            group by tied.dv_hashkey, tied.dv_applied_timestamp
            having count(distinct tied.dv_hashdiff) = 1
        )
        select tied.dv_row_number
        from tied
        inner join winners
            on tied.dv_hashkey = winners.dv_hashkey
            and tied.dv_applied_timestamp = winners.dv_applied_timestamp
        where tied.dv_hashdiff <> winners.dv_hashdiff
    )
