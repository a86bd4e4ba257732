"""`xts batches`: every load with the load timestamp from which it is known."""

from __future__ import annotations

from datetime import datetime

from xts_pipeline.ledger import abandon_batch
from xts_pipeline_tests.cli.conftest import Project


def test_the_batches_are_listed_the_newest_first_with_what_they_wrote(late: Project) -> None:
    found = late.json("batches", "crm")["batches"]
    assert [(of["partition_key"], of["status"], of["rows_staged"]) for of in found] == [
        ("2026-01-02", "done", 2),
        ("2026-01-03", "done", 2),
        ("2026-01-01", "done", 2),
    ]
    late_one, on_time, first = found
    assert (late_one["violations"], on_time["violations"]) == (4, 0)  # two rows, for two satellites that keep an XTS
    assert (late_one["rows_copied"], first["rows_copied"]) == (2, 0)
    assert late.json("batches") == late.json("batches", "crm")


def test_the_load_timestamp_of_the_batch_before_gives_the_answer_from_before(late: Project) -> None:
    before = late.json("batches", "crm")["batches"][1]["load_timestamp"]
    printed = late.xts("batches").stdout
    assert before.removesuffix("Z").replace("T", " ") in printed
    (row,) = late.json(
        "as-of", "sat_city", "--valid-at", "2026-01-02", "--known-at", before, "--where", "customer_id = 1"
    )["rows"]
    assert row["city"] == "Bern"


def test_only_so_many_are_shown_and_all_are_counted(late: Project) -> None:
    listed = late.json("batches", "--limit", "1")
    assert (listed["all_batches"], len(listed["batches"])) == (3, 1)
    assert "3 batches, the newest 1 shown" in late.xts("batches", "--limit", "1").stdout


def test_an_abandoned_batch_and_an_unknown_source_are_told(late: Project) -> None:
    with late.vault() as vault:
        batch = vault.stage("crm", late.deliver("05", (7, "Genf"))).batch
        abandon_batch(vault.warehouse, batch.batch_id, datetime(2026, 1, 6))
    newest = late.json("batches")["batches"][0]
    assert (newest["batch_id"], newest["status"], newest["rows_inserted"]) == (batch.batch_id, "abandoned", 0)
    assert "(its own)" in late.xts("batches").stdout
    assert late.xts("batches", "cmr").exit_code == 2
