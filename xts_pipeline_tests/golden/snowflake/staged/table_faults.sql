-- Counts what is wrong with the rows of a table that is about to be staged: one number a kind of fault. Reads only.
select
    count(*) as dv_rows
    , coalesce(
        sum(
            case
                when
                    "DAY" is null
                    then 1
                else 0
            end
        ),
        0
    ) as "FAULT_1"
    , coalesce(
        sum(
            case
                when
                    cast(convert_timezone('UTC', "DAY") as timestamp_ntz(6)) < cast('0001-01-01' as timestamp_ntz(6))
                    or cast(convert_timezone('UTC', "DAY") as timestamp_ntz(6)) > cast('9999-12-31 23:59:59.999999' as timestamp_ntz(6))
                    then 1
                else 0
            end
        ),
        0
    ) as "FAULT_2"
    , coalesce(
        sum(
            case
                when
                    "CUSTOMER_ID" is null
                    then 1
                else 0
            end
        ),
        0
    ) as "FAULT_3"
    , coalesce(
        sum(
            case
                when
                    length(cast("CUSTOMER_ID" as varchar)) <> octet_length(cast("CUSTOMER_ID" as varchar))
                    then 1
                else 0
            end
        ),
        0
    ) as "FAULT_4"
    , coalesce(
        sum(
            case
                when
                    "ACCOUNT_ID" is null
                    then 1
                else 0
            end
        ),
        0
    ) as "FAULT_5"
    , coalesce(
        sum(
            case
                when
                    length(cast("ACCOUNT_ID" as varchar)) <> octet_length(cast("ACCOUNT_ID" as varchar))
                    then 1
                else 0
            end
        ),
        0
    ) as "FAULT_6"
from "RAW"."BANK"
