"""Faults in an op: what may pass is tried again with pauses, what is wrong with the data is not."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import dagster as dg
import duckdb
import pytest
import sqlalchemy as sa
import yaml

from xts_pipeline.errors import ContradictionError, DeliveryError, IntegrityError, UnreachableError, WarehouseBusyError
from xts_pipeline.orchestration import cycle_ops, faults
from xts_pipeline.orchestration.faults import is_transient
from xts_pipeline.vault import Vault
from xts_pipeline_tests.orchestration.project import CASE, FOUR, HEADER, Project, steps_of

HELD = 'IO Error: Could not set lock on file "vault.duckdb": Conflicting lock is held in python (PID 1)'


@pytest.mark.parametrize(
    ("fault", "transient"),
    [
        (WarehouseBusyError("held"), True),
        (UnreachableError("the network is gone"), True),
        (duckdb.IOException(HELD), True),
        (duckdb.IOException("IO Error: No space left on device"), False),
        (DeliveryError("row 3"), False),
        (ContradictionError("two states"), False),
        (IntegrityError("a row that nobody wrote"), False),
        (ZeroDivisionError(), False),
    ],
)
def test_which_faults_may_pass(fault: Exception, transient: bool) -> None:
    assert is_transient(fault) is transient


def test_the_pauses_grow_and_are_spread() -> None:
    pauses = [[faults.RETRIES.calculate_delay(attempt) for _ in range(200)] for attempt in (1, 2, 3, 4)]
    assert [max(of) < 2 * mean for of, mean in zip(pauses, (5, 15.01, 35.01, 75.01), strict=True)] == [True] * 4
    assert all(len(set(of)) > 100 for of in pauses)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retries without the pauses."""
    monkeypatch.setattr(faults, "RETRIES", faults.RETRIES._replace(delay=0.01))


def fail_first(patch: pytest.MonkeyPatch, owner: Any, name: str, fault: Exception, times: int) -> list[str]:
    """Let a function fail so many times; gives the list of its calls."""
    real, calls = getattr(owner, name), list[str]()

    def failing(*args: Any, **kwargs: Any) -> Any:
        calls.append(name)
        if len(calls) <= times:
            raise fault
        return real(*args, **kwargs)

    patch.setattr(owner, name, failing)
    return calls


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(("owner", "name"), [(Vault, "stage"), (cycle_ops, "load_satellite"), (cycle_ops, "merge_hub")])
def test_a_transient_fault_is_retried_and_the_run_succeeds(
    project: Project, monkeypatch: pytest.MonkeyPatch, owner: Any, name: str
) -> None:
    project.declare(CASE, **FOUR)
    fail_first(monkeypatch, owner, name, WarehouseBusyError("another writer held the rows"), times=2)
    result = project.run("case", "d1")
    assert result.success
    assert len([event for event in result.all_events if event.is_step_up_for_retry]) == 2


@pytest.mark.usefixtures("quick")
def test_a_transient_fault_that_does_not_pass_fails_the_run(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.declare(CASE, **FOUR)
    calls = fail_first(monkeypatch, Vault, "stage", WarehouseBusyError("another writer held the rows"), times=99)
    assert not project.run("case", "d1", raise_on_error=False).success
    assert len(calls) == 1 + faults.RETRIES.max_retries


def test_a_fault_of_the_data_is_not_retried_and_is_told_in_its_own_words(project: Project) -> None:
    project.declare(CASE, d1=[(1, "no day", "SYDNEY", "calm")])
    result = project.run("case", "d1", raise_on_error=False)
    assert not result.success
    assert steps_of(result, "STEP_UP_FOR_RETRY") == set()
    error = result.failure_data_for_node("staged__case")
    assert error is not None
    assert "'no day' is not a timestamp" in str(error.error)
    assert "dagster._core.definitions.events.Failure" in str(error.error)


def test_a_fault_of_this_project_keeps_its_traceback(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.declare(CASE, **FOUR)
    calls = fail_first(monkeypatch, cycle_ops, "merge_hub", ZeroDivisionError("what is this"), times=9)
    with pytest.raises(ZeroDivisionError, match="what is this"):
        project.run("case", "d1")
    assert len(calls) == 1


@pytest.mark.usefixtures("quick")
def test_a_database_that_is_away_for_a_moment(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = sa.create_engine(f"sqlite:///{project.folder}/states.sqlite")
    with engine.begin() as connection:
        connection.execute(sa.text(f"create table state ({', '.join(f'{name} text' for name in HEADER)})"))
        connection.execute(sa.text("insert into state values ('1', '2021-01-01', 'SYDNEY', 'calm')"))
    engine.dispose()
    project.declare(CASE)
    delivery = {"url": f"sqlite:///{project.folder}/states.sqlite", "query": "select * from state"}
    declaration = {"type": "xts_pipeline.XtsSource", "attributes": {**CASE, "delivery": delivery}}
    (project.folder / "defs/case/defs.yaml").write_text(yaml.safe_dump(declaration))
    connect, away = sa.engine.Engine.connect, [1, 2]

    def away_at_first(engine: sa.engine.Engine) -> sa.engine.Connection:
        if "states.sqlite" in str(engine.url) and away:  # Dagster's own storage goes by SQLAlchemy too
            away.pop()
            raise sa.exc.OperationalError("connect", {}, ConnectionError("the network is gone"))
        return connect(engine)

    monkeypatch.setattr(sa.engine.Engine, "connect", away_at_first)
    result = project.run("case", "d1")
    assert result.success
    assert steps_of(result, "STEP_UP_FOR_RETRY") == {"staged__case"}


def test_a_run_that_waits_for_the_file_says_for_whom(project: Project) -> None:
    project.declare(CASE, **FOUR)
    code = (
        "import duckdb, sys, time; c = duckdb.connect(sys.argv[1]); print('held', flush=True);"
        " sys.stdin.readline(); time.sleep(1)"
    )
    file = str(project.folder / "vault.duckdb")
    with subprocess.Popen(
        [sys.executable, "-c", code, file], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdin is not None
        assert holder.stdout.readline() == "held\n"
        holder.stdin.write("\n")
        holder.stdin.flush()
        result = project.run("case", "d1")
    assert result.success
    logs = project.instance.all_logs(result.run_id)
    (waited,) = [entry.user_message for entry in logs if entry.user_message.startswith("waiting: ")]
    assert f"PID {holder.pid}" in waited
    assert "No other run is in progress" in waited


def test_dagsters_own_retry_policy_is_on_no_op(project: Project) -> None:
    """It would retry the op of a run that is being cancelled."""
    project.declare(CASE, **FOUR)
    job = project.definitions.resolve_job_def("load_case")
    assert [op.name for op in job.all_node_defs if isinstance(op, dg.OpDefinition) and op.retry_policy] == []
