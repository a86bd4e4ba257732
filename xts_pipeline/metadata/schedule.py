"""When the deliveries of a source are picked up: a cron in a time zone, and the partition that one of its ticks is."""

from __future__ import annotations

import re
import zoneinfo
from datetime import datetime
from typing import Annotated

from pydantic import AfterValidator, Field

from xts_pipeline.metadata.declaration import Declared, Zone

_CRON_FIELD = re.compile(r"[0-9A-Za-z*,/#?-]+")
_RANGES = {"minute": (0, 59), "hour": (0, 23), "day": (1, 31), "month": (1, 12), "weekday": (0, 7)}
_ALIASES = {"@hourly", "@daily", "@midnight", "@weekly", "@monthly", "@yearly", "@annually"}


def checked_cron(value: str) -> str:
    """A cron by its form and the numbers in it; Dagster, which runs it, judges the rest when it loads the source."""
    fields = value.split()
    if value not in _ALIASES and (len(fields) != 5 or not all(_CRON_FIELD.fullmatch(field) for field in fields)):
        raise ValueError(
            f"{value!r} is no cron: write five fields, minute, hour, day, month and weekday, like 0 6 * * *"
        )
    if value not in _ALIASES:
        _refuse_out_of_range(value, fields)
    return value


def _refuse_out_of_range(cron: str, fields: list[str]) -> None:
    for (name, (lowest, highest)), field in zip(_RANGES.items(), fields, strict=True):
        numbers = [int(of) for part in field.split(",") for of in re.findall(r"(?<![\w/#])[0-9]+", part)]
        if wrong := [of for of in numbers if not lowest <= of <= highest]:
            raise ValueError(f"{cron!r}: {name} {wrong[0]} is not between {lowest} and {highest}")


Cron = Annotated[str, AfterValidator(checked_cron)]


class Schedule(Declared):
    """A cron in a time zone."""

    cron: Cron = Field(description="Minute, hour, day, month, weekday: `0 6 * * 1-5` for six on working days.")
    timezone: Zone = Field(default="UTC", description="The IANA zone of the cron, and of the day of its ticks.")

    @property
    def ticks_once_a_day(self) -> bool:
        """Whether no day has two ticks: minute and hour are one number each."""
        fields = self.cron.split()
        return self.cron in _ALIASES - {"@hourly"} or (fields[0].isdigit() and len(fields) > 1 and fields[1].isdigit())

    def partition_of(self, tick: datetime) -> str:
        """The partition key of a tick (with a zone): its day in the schedule's zone, with the time if days have more.

        Where clocks are set back an hour occurs twice, and its second tick is a later delivery of the same partition.
        """
        local = tick.astimezone(zoneinfo.ZoneInfo(self.timezone))
        return f"{local:%Y-%m-%d}" if self.ticks_once_a_day else f"{local:%Y-%m-%dT%H:%M}"
