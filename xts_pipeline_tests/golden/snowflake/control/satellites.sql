-- What is known of the satellites of a source. Reads only.
select
    satellite,
    xts_assisted
from "CONTROL"."SATELLITE"
where source = %(source)s
