"""The bench's own environment: other tools and the drawing of pictures, kept out of the project's."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from bench.workload import Size

PYTHON = Path(__file__).parent / ".venv" / "bin" / "python"
ROOT = Path(__file__).parent.parent
TOOLS = {"dbt snapshot": "bench.tools.dbt_snapshot", "SQLMesh SCD type 2 by time": "bench.tools.sqlmesh_scd2"}


def measure_tools(size: Size) -> dict[str, Any]:
    """What each tool takes for the in-sequence batch, beside a plain write in the same process."""
    arguments = [str(number) for number in (size.keys, size.days, size.batch)]
    return {tool: json.loads(_run("-m", module, *arguments).splitlines()[-1]) for tool, module in TOOLS.items()}


def draw(results: Path, picture: Path) -> None:
    """Draw the picture of a file of results."""
    _run(str(Path(__file__).parent / "picture.py"), str(results), str(picture))


def _run(*arguments: str) -> str:
    done = subprocess.run([str(PYTHON), *arguments], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(arguments)} failed: {done.stderr[-2000:]}")
    return done.stdout
