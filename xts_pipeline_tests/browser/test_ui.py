"""What Dagster's pages show of a late batch: graph, run timeline, check, backfill. The docs' pictures come from it.

`XTS_PICTURES` names the folder the pictures are kept in.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from xts_pipeline.definitions import DEFS_FOLDER
from xts_pipeline_tests.browser.chromium import Browser, browsing
from xts_pipeline_tests.e2e.dagster_dev import dagster_dev
from xts_pipeline_tests.orchestration.project import Project

pytestmark = pytest.mark.browser
SOURCE, LATE = "sapbw_customer", "2021-01-02"


@dataclass
class Loaded:
    """The bundled example after its late extract, and a browser on it."""

    browser: Browser
    run: str  # of the late extract
    backfill: str


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Loaded]:
    folder = tmp_path_factory.mktemp("browser")
    shutil.copytree(DEFS_FOLDER / SOURCE, folder / "defs" / SOURCE)
    pictures = Path(os.environ.get("XTS_PICTURES") or folder / "pictures").absolute()
    project = Project(folder, instance=None)  # type: ignore[arg-type]
    with dagster_dev(project) as dagster:
        dagster.register(SOURCE, "2021-01-01", "2021-01-03", LATE)
        assert dagster.backfill_ended(dagster.backfill(SOURCE, "2021-01-01", "2021-01-03")) == "COMPLETED_SUCCESS"
        backfill = dagster.backfill(SOURCE, LATE)
        assert dagster.backfill_ended(backfill) == "COMPLETED_SUCCESS"
        (run,) = dagster.runs(SOURCE, **{"dagster/backfill": backfill})
        with browsing(dagster.url, pictures) as browser:
            yield Loaded(browser, run["id"], backfill)


def test_the_asset_graph_reads_from_left_to_right_as_the_cycle_goes(loaded: Loaded) -> None:
    browser = loaded.browser
    browser.open("/locations/__repository__@xts_pipeline/asset-groups/customer/lineage", 1500, 820)
    order = ("sapbw_customer", "xts_switch", "sat_…_hub_customer", "sat_sapbw_address", "hub_customer")
    browser.reads(*order)
    places = [browser.found("[class*=AssetNode], foreignObject", name).rect["x"] for name in order]
    assert places == sorted(places)
    assert len(set(places)) == len(order)
    browser.picture("asset-graph")


def test_a_run_shows_the_branch_taken_and_the_other_one_as_skipped(loaded: Loaded) -> None:
    browser = loaded.browser
    browser.open(f"/runs/{loaded.run}", 1500, 1000)
    browser.reads("Success", "partition: 2021-01-02", "Succeeded (10)")
    browser.click("button:has([aria-label=gantt_flat])")
    browser.click("button:has([aria-label=expand_arrows])")
    for satellite in ("address", "contact"):
        browser.until(f"the branches of {satellite}", lambda of=satellite: is_assisted(browser, of) or None)
    browser.picture("run-timeline")


def is_assisted(browser: Browser, satellite: str) -> bool:
    """The assisted load has the colour of a step that is done, the normal one another."""
    steps = ("close_sapbw_customer", f"{satellite}_assisted", f"{satellite}_normal")
    done, assisted, normal = (browser.background_of(step) for step in steps)
    return None not in (done, normal) and done == assisted != normal


def test_the_violation_check_warns_with_a_table_of_the_late_keys(loaded: Loaded) -> None:
    browser = loaded.browser
    browser.open("/assets/sat_sapbw_address?view=checks&checkDetail=sequence_violations", 1900, 1000)
    browser.reads("sequence_violations", "Failed", "5 rows of sat_sapbw_address came after a newer one", "by 1 d")
    table = browser.found("table", "dv_newest_before")
    assert all(key in table.text for key in ("1001", "1002", "1003", "1004"))
    browser.picture("violation-check")


def test_the_satellite_tells_what_was_inserted_and_restored(loaded: Loaded) -> None:
    browser = loaded.browser
    browser.open(f"/assets/sat_sapbw_address?view=events&partition={LATE}", 1500, 1000)
    browser.reads(f"Partition {LATE} materialized", "xts/branch", "assisted", "xts/copied", "dagster/row_count")
    browser.picture("materialization")


def test_a_backfill_with_a_late_batch_is_green(loaded: Loaded) -> None:
    browser = loaded.browser
    browser.open(f"/runs/b/{loaded.backfill}", 1500, 820)
    browser.reads("Partition selection", LATE, "Succeeded", "sat_sapbw_address", "100% completed")
    assert "Failed\n1" not in browser.text()
    browser.picture("backfill")
