-- Counts what is wrong with the rows of a table that is about to be staged: one number a kind of fault. Reads only.
select
    count(*) as dv_rows
    , coalesce(
        sum(
            case
                when
                    "day" is null
                    then 1
                else 0
            end
        ),
        0
    ) as "fault_1"
    , coalesce(
        sum(
            case
                when
                    cast("day" as timestamp) < cast('0001-01-01' as timestamp)
                    or cast("day" as timestamp) > cast('9999-12-31 23:59:59.999999' as timestamp)
                    then 1
                else 0
            end
        ),
        0
    ) as "fault_2"
    , coalesce(
        sum(
            case
                when
                    "customer_id" is null
                    then 1
                else 0
            end
        ),
        0
    ) as "fault_3"
    , coalesce(
        sum(
            case
                when
                    length(cast("customer_id" as varchar)) <> strlen(cast("customer_id" as varchar))
                    then 1
                else 0
            end
        ),
        0
    ) as "fault_4"
    , coalesce(
        sum(
            case
                when
                    "account_id" is null
                    then 1
                else 0
            end
        ),
        0
    ) as "fault_5"
    , coalesce(
        sum(
            case
                when
                    length(cast("account_id" as varchar)) <> strlen(cast("account_id" as varchar))
                    then 1
                else 0
            end
        ),
        0
    ) as "fault_6"
from "raw"."bank"
