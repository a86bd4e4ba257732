"""Freshness in Dagster: a check that can be asked by hand, and a sensor that asks it every few minutes.

Dagster's own freshness policy reads when an asset was last materialized, and a backfill of old days turns it green.
"""

# No postponed annotations here: Dagster reads the type of `context` from the function itself.

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import dagster as dg
from dagster._utils.schedules import is_valid_cron_string, reverse_cron_string_iterator

from xts_pipeline.checks import spoken
from xts_pipeline.errors import DeclarationError, WarehouseBusyError
from xts_pipeline.freshness import Deadline, FreshnessState, judge, read_heartbeat
from xts_pipeline.ledger import utc_now
from xts_pipeline.metadata import Satellite
from xts_pipeline.metadata.monitoring import Freshness, span_of
from xts_pipeline.orchestration.alerts import tell
from xts_pipeline.orchestration.faults import working_vault
from xts_pipeline.orchestration.notices import FRESHNESS, Watched, notice_of
from xts_pipeline.orchestration.resource import VaultResource
from xts_pipeline.vault import Vault

EVERY = 300  # seconds
PATIENCE = 2.0  # seconds; a load holds the file for longer, another sensor does not
REPEATED = timedelta(hours=1)  # an evaluation that says the same is recorded again after that, for the UI
SEVERITIES = {"WARN": dg.AssetCheckSeverity.WARN, "ERROR": dg.AssetCheckSeverity.ERROR}
ADVICE = {
    "data_old": "The source delivers, but nothing newer: ask whoever runs it whether its extract stands still. If it "
    "always states an older day, declare its lag (with a deadline) or a greater max_age",
    "feed_silent": "Nothing newer has come: look whether the delivery is there, whether its run was requested, and ask "
    "whoever runs the source",
    "silent_keys": "The newest extracts lack keys that older ones had: ask whether they are complete. What was deleted "
    "at the source stays in the vault as it is",
    "": "Load a first delivery",
}


def deadline_before(freshness: Freshness, now: datetime) -> Deadline | None:
    """The newest deadline whose grace is over at `now` (UTC without zone); None when a source declares none."""
    if freshness.deadline is None:
        return None
    grace = span_of(freshness.grace) if freshness.grace else timedelta(0)
    end = (now - grace).replace(tzinfo=UTC)
    ticks = reverse_cron_string_iterator(end.timestamp(), freshness.deadline, freshness.timezone)
    newest, before = (next(ticks).astimezone(UTC).replace(tzinfo=None) for _ in range(2))
    return Deadline(before + grace, newest + grace)


def freshness_of(watched: Watched, vault: Vault, now: datetime) -> dict[str, FreshnessState]:
    """The state of every satellite of a source that has heartbeats."""
    freshness = _declared(watched)
    deadline = deadline_before(freshness, now)
    return {
        satellite.name: judge(read_heartbeat(vault.warehouse, satellite, freshness), now, freshness, deadline)
        for satellite in assisted(watched)
    }


def assisted(watched: Watched) -> list[Satellite]:
    """The satellites of a source that have heartbeats."""
    return [satellite for satellite in watched.nodes.source.satellites if satellite.xts_assisted]


def freshness_check(watched: Watched) -> dg.AssetChecksDefinition:
    """The check `freshness` of every satellite with heartbeats, to be asked by hand; a load asks it too."""
    freshness = _declared(watched)
    if freshness.deadline is not None and not is_valid_cron_string(freshness.deadline):
        raise DeclarationError(
            f"source {watched.nodes.name}: freshness.deadline: {freshness.deadline!r} is no cron: "
            "write five fields, like 0 7 * * 1-5"
        )
    keys = {satellite.name: watched.nodes.of_satellite(satellite) for satellite in assisted(watched)}

    @dg.multi_asset_check(
        name=f"{FRESHNESS}_{watched.nodes.name}",
        description="Asks the XTS how old the newest state is, and when the source last spoke of it.",
        specs=[
            dg.AssetCheckSpec(FRESHNESS, asset=key, description=f"The feed is alive: {_rule(freshness)}.")
            for key in keys.values()
        ],
        can_subset=True,
    )
    def ask(context: dg.AssetCheckExecutionContext, vaults: VaultResource) -> Iterator[dg.AssetCheckResult]:
        with working_vault(context, vaults, watched.nodes.catalog) as vault:
            states = freshness_of(watched, vault, utc_now())
        for name, key in keys.items():
            if dg.AssetCheckKey(key, FRESHNESS) in context.selected_asset_check_keys:
                evaluation = evaluation_of(watched, key, states[name])
                yield dg.AssetCheckResult(
                    passed=evaluation.passed,
                    asset_key=key,
                    check_name=FRESHNESS,
                    severity=evaluation.severity,
                    description=evaluation.description,
                    metadata=evaluation.metadata,
                )

    return ask


def evaluation_of(watched: Watched, key: dg.AssetKey, state: FreshnessState) -> dg.AssetCheckEvaluation:
    """A state as an evaluation of the check."""
    freshness, heartbeat = _declared(watched), state.heartbeat
    times = {
        "xts/newest_applied_timestamp": heartbeat and heartbeat.applied_timestamp,
        "xts/known_since": heartbeat and heartbeat.known_since,
        "xts/last_stated_at": heartbeat and heartbeat.confirmed_at,
        "xts/newest_load": heartbeat and heartbeat.newest_load,
    }
    metadata: dict[str, Any] = {"xts/state": state.state, "xts/rule": _rule(freshness)}
    metadata |= {name: f"{time:%Y-%m-%d %H:%M:%S} UTC" for name, time in times.items() if time}
    if state.late_by is not None:
        metadata["xts/late_by"] = spoken(state.late_by)
    if state.reason:
        metadata["xts/reason"] = state.reason
    if not state.passed:
        metadata["xts/advice"] = ADVICE[state.reason]
    if freshness.silent_share is not None and heartbeat is not None:
        metadata |= {"xts/silent_keys": heartbeat.silent_keys, "xts/known_keys": heartbeat.keys}
    return dg.AssetCheckEvaluation(
        asset_key=key,
        check_name=FRESHNESS,
        passed=state.passed,
        severity=SEVERITIES[freshness.severity],
        description=state.summary,
        metadata={
            name: dg.MetadataValue.int(of) if isinstance(of, int) else dg.MetadataValue.text(of)
            for name, of in metadata.items()
        },
    )


def to_be_recorded(cursor: str | None, states: Mapping[str, FreshnessState], now: datetime) -> tuple[list[str], str]:
    """The satellites whose state is to be recorded now, and the new cursor: a change at once, else once an hour."""
    before: dict[str, list[str]] = json.loads(cursor or "{}")
    due, after = [], {}
    for name, state in states.items():
        known, at = before.get(name, ["", datetime.min.isoformat()])
        told = f"{state.state} {state.reason}".strip()
        if known != told or now - datetime.fromisoformat(at) >= REPEATED:
            due.append(name)
            at = now.isoformat()
        after[name] = [told, at]
    return due, json.dumps(after)


def heartbeat_sensor(watched: Watched, everyone: Sequence[Watched]) -> dg.SensorDefinition:
    """The sensor that looks whether the feed of a source is alive, and tells when that changes."""
    nodes = watched.nodes

    @dg.sensor(
        name=f"heartbeats_{nodes.name}",
        description=f"Looks whether the feed of {nodes.name} is alive: {_rule(_declared(watched))}.",
        minimum_interval_seconds=EVERY,
        default_status=dg.DefaultSensorStatus.RUNNING,
    )
    def look(context: dg.SensorEvaluationContext, vaults: VaultResource) -> dg.SensorResult | dg.SkipReason:
        now = utc_now()
        try:
            with vaults.vault(nodes.catalog, PATIENCE) as vault:
                states = freshness_of(watched, vault, now)
        except WarehouseBusyError:
            return dg.SkipReason(f"unknown: {judge(None, now, _declared(watched)).summary}")
        evaluations = {name: evaluation_of(watched, dg.AssetKey(name), state) for name, state in states.items()}
        tell(context.instance, everyone, [notice_of(nodes.name, each) for each in evaluations.values()], context.log)
        due, cursor = to_be_recorded(context.cursor, states, now)
        told = "; ".join(f"{name} {state.state}: {state.summary}" for name, state in states.items())
        return dg.SensorResult(skip_reason=told, cursor=cursor, asset_events=[evaluations[name] for name in due])

    return look


def _declared(watched: Watched) -> Freshness:
    assert watched.operated.freshness is not None, "only sources that declare freshness are watched for it"
    return watched.operated.freshness


def _rule(freshness: Freshness) -> str:
    """The declared rule in words."""
    if freshness.max_age is not None:
        rule = f"the newest state is at most {freshness.max_age} old"
    else:
        grace = f", {freshness.grace} of grace" if freshness.grace else ""
        lag = f", dated up to {freshness.lag} before the deadline before" if freshness.lag else ""
        rule = f"something newer has come by each {freshness.deadline} {freshness.timezone}{grace}{lag}"
    silent = freshness.max_silent_keys
    return f"{rule}; at most {silent} of its keys are silent" if silent else rule
