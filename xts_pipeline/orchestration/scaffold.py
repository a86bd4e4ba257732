"""What `dg scaffold defs xts_pipeline.XtsSource <name>` writes: a declaration to edit, and a delivery to try it."""

from __future__ import annotations

from pathlib import Path
from string import Template

import click
import dagster as dg
from pydantic import BaseModel

from xts_pipeline.metadata.declaration import NAME

SAMPLE_PARTITION = "2021-01-01"
_BESIDE = Path(__file__).parent


class XtsSourceScaffolder(dg.Scaffolder[BaseModel]):
    """Writes a source that loads as it stands: defs.yaml with what may stand in it, and one delivery."""

    def scaffold(self, request: dg.ScaffoldRequest[BaseModel]) -> None:
        """Write both files; the source is named after the folder. click.UsageError says why when it cannot be."""
        name = request.target_path.name
        if request.scaffold_format != "yaml" or request.append:
            raise click.UsageError("a source is declared in a YAML file of its own: leave --format and --append out")
        if not NAME.fullmatch(name):
            raise click.UsageError(
                f"{name!r}: a source is named with letters, digits and underscores, which Dagster and SQL both carry"
            )
        declaration = Template((_BESIDE / "new_source.yaml").read_text(encoding="utf-8"))
        data = request.target_path / "data"
        data.mkdir(exist_ok=True)
        (data / f"{SAMPLE_PARTITION}.csv").write_bytes((_BESIDE / "new_source.csv").read_bytes())
        (request.target_path / "defs.yaml").write_text(
            declaration.substitute(source=name, record_source=name.upper()), encoding="utf-8"
        )
