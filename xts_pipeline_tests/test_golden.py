"""What every template renders to, one readable file a template and dialect, so that a change of SQL is seen in review.

`pytest xts_pipeline_tests/test_golden.py --regenerate` writes the files anew; read the diff before you commit it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from xts_pipeline.templates import DIALECTS, Renderer
from xts_pipeline_tests.test_templates import ENTRIES

GOLDEN = Path(__file__).parent / "golden"
PREFERRED = ("sat_holding", "lnk_customer_account", "hub_customer", "sat_xt_lnk_customer_account")


def golden(dialect: str) -> dict[str, str]:
    """File: text. Of the tables that a template is about, the one of the link with a satellite is shown."""
    chosen = {}
    for entry in ENTRIES[dialect]:
        known = chosen.setdefault(entry.name, entry)
        if entry.subject in PREFERRED and known.subject not in PREFERRED:
            chosen[entry.name] = entry
    return {f"{dialect}/{name}.sql": entry.statement(Renderer(dialect)).sql for name, entry in sorted(chosen.items())}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_template_renders_as_it_was_reviewed(dialect: str, request: pytest.FixtureRequest) -> None:
    rendered = golden(dialect)
    if request.config.getoption("--regenerate"):
        for path in (GOLDEN / dialect).rglob("*.sql"):
            path.unlink()
        for name, sql in rendered.items():
            (GOLDEN / name).parent.mkdir(parents=True, exist_ok=True)
            (GOLDEN / name).write_text(sql)
    there = {path.relative_to(GOLDEN).as_posix(): path.read_text() for path in (GOLDEN / dialect).rglob("*.sql")}
    assert there.keys() == rendered.keys()
    changed = [name for name, sql in rendered.items() if there[name] != sql]
    assert not changed, f"{', '.join(changed)}: run with --regenerate, and read the diff"
