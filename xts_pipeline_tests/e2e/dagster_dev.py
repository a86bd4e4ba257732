"""`dagster dev` (webserver, daemon and code server) with a home, sources and a DuckDB file of its own, over GraphQL."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from xts_pipeline.templates import SQL_FOLDER
from xts_pipeline_tests.orchestration.project import Project

ROOT = SQL_FOLDER.parent
PATIENCE = 300.0  # seconds; a run's process starts in two on an idle machine, and in twenty on a busy one
ENDED = {"SUCCESS", "FAILURE", "CANCELED"}
REPOSITORY = {"repositoryName": "__repository__", "repositoryLocationName": "xts_pipeline"}
# The code location. A file `break` beside it makes every load of a satellite fail, as if the machine had died.
LOCATION = """
from pathlib import Path
from xts_pipeline.definitions import build_definitions
from xts_pipeline.orchestration import cycle_ops

folder = Path(__file__).parent
load = cycle_ops.load_satellite


def load_or_break(*args, **kwargs):
    if (folder / "break").exists():
        raise OSError("the disk is gone")
    return load(*args, **kwargs)


cycle_ops.load_satellite = load_or_break
defs = build_definitions(folder / "defs")
"""
T = TypeVar("T")


def until(what: str, ask: Callable[[], T | None], patience: float = PATIENCE) -> T:
    """Ask until there is an answer."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        if (answer := ask()) is not None:
            return answer
        time.sleep(1)
    raise AssertionError(f"{what}: not within {patience:.0f} seconds")


@dataclass
class DagsterDev:
    """A running Dagster, and what a user does in its UI."""

    project: Project
    url: str

    def ask(self, query: str, **variables: Any) -> Any:
        """One GraphQL query or mutation; an error fails the test."""
        body = json.dumps({"query": query, "variables": variables}).encode()
        request = urllib.request.Request(f"{self.url}/graphql", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as response:
            answer = json.load(response)
        assert "errors" not in answer, answer
        return answer["data"]

    def is_loaded(self) -> bool | None:
        """Whether the code location is there."""
        with suppress(urllib.error.URLError, ConnectionError, TimeoutError):
            entries = self.ask(
                "{workspaceOrError {... on Workspace {locationEntries {loadStatus locationOrLoadError {__typename "
                "... on PythonError {message}}}}}}"
            )["workspaceOrError"]["locationEntries"]
            assert not [of for of in entries if of["locationOrLoadError"]["__typename"] == "PythonError"], entries
            return (bool(entries) and all(of["loadStatus"] == "LOADED" for of in entries)) or None
        return None

    def runs(self, source: str, **tags: str) -> list[dict[str, Any]]:
        """The runs of a source's job, oldest first."""
        found = self.ask(
            """query ($filter: RunsFilter) {runsOrError(filter: $filter) {... on Runs {results {
                 id status jobName parentRunId tags {key value}}}}}""",
            filter={"tags": [{"key": key, "value": value} for key, value in tags.items()]},
        )["runsOrError"]["results"]
        runs = [{**run, "tags": {tag["key"]: tag["value"] for tag in run["tags"]}} for run in reversed(found)]
        return [run for run in runs if run["jobName"] == f"load_{source}" or tags]

    def ended(self, source: str, count: int) -> list[dict[str, Any]]:
        """The runs of a source, when there are so many and all have ended."""

        def answer() -> list[dict[str, Any]] | None:
            runs = self.runs(source)
            return runs if len(runs) >= count and all(run["status"] in ENDED for run in runs) else None

        return until(f"{count} runs of {source}", answer)

    def register(self, source: str, *partitions: str) -> None:
        """Register partitions, one by one."""
        for partition in partitions:
            self.ask(
                """mutation ($repository: RepositorySelector!, $name: String!, $key: String!) {
                     addDynamicPartition(repositorySelector: $repository, partitionsDefName: $name, partitionKey: $key)
                       {__typename ... on PythonError {message}}}""",
                repository=REPOSITORY,
                name=f"{source}_batches",
                key=partition,
            )

    def assets(self, source: str) -> list[list[str]]:
        """The partitioned assets of a source, as its job has them."""
        nodes = self.ask(
            "query ($pipeline: PipelineSelector!) {assetNodes(pipeline: $pipeline, loadMaterializations: false)"
            " {assetKey {path} isPartitioned}}",
            pipeline={**REPOSITORY, "pipelineName": f"load_{source}"},
        )["assetNodes"]
        return [node["assetKey"]["path"] for node in nodes if node["isPartitioned"]]

    def backfill(self, source: str, *partitions: str) -> str:
        """Launch a backfill of all assets of a source."""
        launched = self.ask(
            """mutation ($params: LaunchBackfillParams!) {launchPartitionBackfill(backfillParams: $params) {
                 __typename ... on LaunchBackfillSuccess {backfillId} ... on PythonError {message}}}""",
            params={
                "assetSelection": [{"path": path} for path in self.assets(source)],
                "partitionNames": list(partitions),
            },
        )["launchPartitionBackfill"]
        assert launched["__typename"] == "LaunchBackfillSuccess", launched
        return str(launched["backfillId"])

    def backfill_ended(self, backfill: str) -> str:
        """The status of a backfill, when it has ended."""

        def answer() -> str | None:
            found = self.ask(
                "query ($id: String!) {partitionBackfillOrError(backfillId: $id)"
                " {... on PartitionBackfill {status error {message}}}}",
                id=backfill,
            )["partitionBackfillOrError"]
            running = found["status"] in {"REQUESTED", "CANCELING", "COMPLETING", "FAILING"}
            return None if running else str(found["status"])

        return until(f"the end of backfill {backfill}", answer)

    def ticks(self) -> dict[str, list[dict[str, Any]]]:
        """The ended ticks of each sensor and schedule that is on, newest first."""
        fields = "{status ticks(limit: 100) {status skipReason error {message}}}"
        found = self.ask(
            f"""query ($repository: RepositorySelector!) {{
                 sensorsOrError(repositorySelector: $repository)
                   {{... on Sensors {{results {{name state: sensorState {fields}}}}}}}
                 schedulesOrError(repositorySelector: $repository)
                   {{... on Schedules {{results {{name state: scheduleState {fields}}}}}}}}}""",
            repository=REPOSITORY,
        )
        everyone = [*found["sensorsOrError"]["results"], *found["schedulesOrError"]["results"]]
        return {
            each["name"]: [tick for tick in each["state"]["ticks"] if tick["status"] != "STARTED"]
            for each in everyone
            if each["state"]["status"] == "RUNNING"
        }

    def more_ticks(self, name: str, count: int) -> None:
        """Wait for so many more ticks of a sensor or schedule."""
        before = len(self.ticks()[name])
        until(f"{count} ticks of {name}", lambda: len(self.ticks()[name]) >= before + count or None)

    def preview(self, kind: str, name: str) -> Any:
        """What the UI shows for "Preview tick result" of a sensor, or of a schedule's tick of last year."""
        place = {"repositoryName": "__repository__", "repositoryLocationName": "xts_pipeline"}
        at = "cursor: null" if kind == "sensor" else f"timestamp: {time.time() - 365 * 86400}"
        query = """mutation($of: %sSelector!) { %sDryRun(selectorData: $of, %s) { ... on DryRunInstigationTick {
            evaluationResult { runRequests { runKey } skipReason error { message } } } } }"""
        return self.ask(query % (kind.capitalize(), kind, at), of={**place, f"{kind}Name": name})

    def cancel_backfill(self, backfill: str) -> None:
        """Cancel a backfill and its runs."""
        self.ask("mutation ($id: String!) {cancelPartitionBackfill(backfillId: $id) {__typename}}", id=backfill)

    def reexecute_from_failure(self, run: str) -> str:
        """Re-execute a failed run from where it failed; the id of the new one."""
        launched = self.ask(
            """mutation ($params: ReexecutionParams!) {launchRunReexecution(reexecutionParams: $params) {
                 __typename ... on LaunchRunSuccess {run {id}} ... on PythonError {message}}}""",
            params={"parentRunId": run, "strategy": "FROM_FAILURE"},
        )["launchRunReexecution"]
        assert launched["__typename"] == "LaunchRunSuccess", launched
        return str(launched["run"]["id"])

    def check(self, asset: str, name: str) -> dict[str, Any]:
        """The newest evaluation of an asset check."""
        checks = self.ask(
            """query ($key: AssetKeyInput!) {assetNodeOrError(assetKey: $key) {... on AssetNode {
                 assetChecksOrError {... on AssetChecks {checks {name executionForLatestMaterialization {
                   status evaluation {severity success}}}}}}}}""",
            key={"path": asset.split("/")},
        )["assetNodeOrError"]["assetChecksOrError"]["checks"]
        execution = next(of for of in checks if of["name"] == name)["executionForLatestMaterialization"]
        assert execution is not None, f"{asset}, {name} was not asked"
        return dict(execution["evaluation"])


@contextmanager
def dagster_dev(project: Project, **variables: str) -> Iterator[DagsterDev]:
    """Start Dagster on a free port, with the shipped settings and some more environment variables.

    Its whole group of processes is ended afterwards.
    """
    home = project.folder / "home"
    home.mkdir()
    shutil.copy(ROOT / "dagster.yaml", home)
    (project.folder / "location.py").write_text(LOCATION)
    (project.folder / "workspace.yaml").write_text(
        "load_from: [{python_file: {relative_path: location.py, location_name: xts_pipeline}}]\n"
    )
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {
        **os.environ,
        "DAGSTER_HOME": str(home),
        "XTS_WAREHOUSE": f"duckdb:///{project.folder / 'vault.duckdb'}",
        "PYTHONPATH": str(ROOT),
        **variables,
    }
    command = [sys.executable, "-m", "dagster", "dev", "-w", "workspace.yaml", "-h", "127.0.0.1", "-p", str(port)]
    with (project.folder / "dagster.log").open("wb") as log:
        process = subprocess.Popen(
            command, cwd=project.folder, env=environment, stdout=log, stderr=log, start_new_session=True
        )
        try:
            dagster = DagsterDev(project, f"http://127.0.0.1:{port}")
            until("the code location", dagster.is_loaded)
            yield dagster
        except BaseException:
            print(tail(project.folder / "dagster.log"))
            raise
        finally:
            end_group(process)


def end_group(process: subprocess.Popen[bytes]) -> None:
    """End a process and its children, which outlive it when it alone is told to end."""
    for ask, patience in ((signal.SIGTERM, 20), (signal.SIGKILL, 10)):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, ask)
        with suppress(subprocess.TimeoutExpired):
            process.wait(patience)
    time.sleep(0.2)


def tail(path: Path, lines: int = 60) -> str:
    """The end of a log."""
    return "\n".join(path.read_text(errors="replace").splitlines()[-lines:])
