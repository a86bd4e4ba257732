"""The workload as the tools want it: a table of what was delivered, and versions of keys with a beginning and an end.

Runs in the bench's own environment, whose DuckDB may be another version than the project's: it knows no project code.
"""

from __future__ import annotations

import time
from pathlib import Path

import duckdb

SQL = Path(__file__).parent.parent / "sql"
DELIVERED = (
    "create or replace table main.delivered as select customer_id, {applied} as applied, name, street, city, postcode, "
    "{tier} as tier from states({keys}, {day}) where {chosen}"
)


def deliver(file: Path, keys: int, day: int, *, changed_keys: int | None = None) -> None:
    """Put the state of every key as of a day into main.delivered; or that of some keys, all changed, a day later."""
    if changed_keys is None:
        applied, tier, chosen = "timestamp '2024-01-01' + to_days(cast(changed_on as integer))", "tier", "true"
    else:
        applied, tier = f"timestamp '2024-01-01' + to_days({day + 1})", "1000"
        chosen = f"k % {keys // changed_keys} = 3"
    with duckdb.connect(str(file)) as connection:
        connection.execute((SQL / "states.sql").read_text())
        connection.execute(DELIVERED.format(applied=applied, tier=tier, keys=keys, day=day, chosen=chosen))


def closed_versions(keys: int, days: int) -> str:
    """A query for the versions of keys that ended before the last day: one for each change but the last."""
    days_of_change = " union all ".join(
        f"select * from states({keys}, {day}) where changed_on = {day}" for day in range(days)
    )
    return f"""
        select
            customer_id, name, street, city, postcode, tier,
            timestamp '2024-01-01' + to_days(cast(changed_on as integer)) as valid_from,
            lead(timestamp '2024-01-01' + to_days(cast(changed_on as integer)))
                over (partition by customer_id order by changed_on) as valid_to
        from ({days_of_change})
        qualify valid_to is not null
    """


def floor(file: Path) -> float:
    """Seconds to write what was delivered to a table, in the DuckDB of this environment."""
    with duckdb.connect(str(file)) as connection:
        connection.execute("create or replace table main.floor as select * from main.delivered limit 0")
        begun = time.perf_counter()
        connection.execute("insert into main.floor select * from main.delivered")
        return time.perf_counter() - begun
