-- The source that feeds a satellite, and what it hangs on. Reads only.
select
    source,
    hangs_on
from "control"."satellite"
where satellite = $satellite
