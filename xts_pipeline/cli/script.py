"""The whole cycle of a satellite as one script, for a Snowflake worksheet: no session variables, nothing to fill in but
the name of the table that is staged."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import date

from xts_pipeline.cli.statements import Entry, statements_of, table_of
from xts_pipeline.metadata import ColumnType, Satellite, SourceModel
from xts_pipeline.staging.table_source import constants_of
from xts_pipeline.templates import Renderer, renderer

_SWITCH = "load/switch"  # or load/switch_standard, of a satellite without XTS
_MONITORING = (
    "monitor/violations",
    "monitor/violation_rows",
    "monitor/heartbeat",
    "monitor/table_rows",
    "check/timeline_invariant",
    "view/as_of",
)
_BIND = re.compile(r"%\((\w+)\)s")
# What a worksheet runs, in this order; a heading before the first of each part.
_PARTS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Schemas and tables. Each is made once; run again, nothing happens.", ("ddl/", "load/ghost")),
    ("The batch.", ("script/batch",)),
    (
        "Staging: rows and hashes. The first query must find no faults, the last no contradictions.",
        ("staged/table_faults", "staged/from_table", "staged/contradictions"),
    ),
    ("SWITCH: late_rows and corrected_rows of 0 say that the batch is in sequence.", (_SWITCH,)),
    ("Facts: every staged hashdiff, whatever the SWITCH said.", ("load/xts",)),
    (
        "The satellite: one of two loads, never both. The assisted one is right for any batch; the normal one below it "
        "is cheaper, for a batch that is in sequence.",
        ("load/satellite_assisted", "load/satellite_normal"),
    ),
    ("Hubs and links.", ("load/hub", "load/link")),
    ("What the batch wrote.", ("load/xts_counts", "load/satellite_counts")),
    ("Monitoring, and what was true as known now. The invariant must return nothing.", _MONITORING),
)
_LEFT_OUT = ("ddl/satellite_column", "ddl/control_pending_statement", "ddl/control_step_query", "ddl/control_lock")
_ONLY_NORMAL = "load/satellite_normal"


def script_of(source: SourceModel, satellite: Satellite, types: Mapping[str, ColumnType]) -> Iterator[str]:
    """The script, statement by statement; comments stand before the statement they are about."""
    rendering = renderer("snowflake")
    source = _narrowed(source, satellite)
    entries = statements_of(source, types, "snowflake", satellite.name)
    table = table_of(source).table
    yield (
        f"-- The load cycle of {satellite.name}, from table {table}. Paste it into a worksheet whose database is the\n"
        "-- vault's, with a role that may make tables; run it from top to bottom for each delivery.\n"
        "-- Text must be in Unicode NFC and business keys in ASCII: see docs/snowflake.md.\n"
        "alter session set timezone = 'UTC', timestamp_type_mapping = 'TIMESTAMP_NTZ';\n"
    )
    replacements = _replacements(source, satellite, rendering)
    for heading, names in _PARTS:
        chosen = [entry for entry in entries if _belongs(entry, names, satellite)]
        if "ddl/" not in names:
            chosen.sort(key=lambda entry: names.index(_SWITCH if entry.name.startswith(_SWITCH) else entry.name))
        if chosen:
            yield f"\n-- ---- {heading}\n"
        for entry in chosen:
            sql = _BIND.sub(lambda bind: replacements[bind[1]], entry.statement(rendering).sql).rstrip()
            alone = satellite.xts_assisted and entry.name == _ONLY_NORMAL
            yield f"\n/*\n{sql};\n*/\n" if alone else f"\n{sql};\n"


def _narrowed(source: SourceModel, satellite: Satellite) -> SourceModel:
    """The source as if it fed this satellite alone: its own columns, and the hubs and link it hangs on."""
    links = [link for link in source.links if link.parent == satellite.parent]
    hubs = {hub.reference for link in links for hub in link.hubs}
    hubs |= {hub.reference for hub in source.hubs if hub.staged_hash_key == satellite.staged_hash_key}
    declared = source.declaration
    update = {
        "satellites": [each for each in declared.satellites if each.name == satellite.name],
        "links": [each for each in declared.links if each.link in {link.parent.name for link in links}],
        "hubs": [each for each in declared.hubs if each.reference in hubs],
    }
    return SourceModel(declared.model_copy(update=update))


def _belongs(entry: Entry, names: tuple[str, ...], satellite: Satellite) -> bool:
    """Whether an entry is of a part: by its whole name, or by its folder."""
    if entry.name in _LEFT_OUT:
        return False
    if entry.name.startswith(_SWITCH):
        return _SWITCH in names
    if entry.name == "script/batch" and entry.subject != satellite.parent.xts_table:
        return False
    if entry.name == "staged/contradictions" and entry.subject != satellite.table:
        return False
    return any(entry.name == name or (name.endswith("/") and entry.name.startswith(name)) for name in names)


def _replacements(source: SourceModel, satellite: Satellite, rendering: Renderer) -> dict[str, str]:
    """Bind: the expression that stands for it in a worksheet."""
    staged, batch = (rendering.name("staged", table) for table in (source.rows_table, "xts_batch"))
    own = f"(select batch_id from {batch})"
    found = {
        "batch_id": own,
        "load_timestamp": f"(select load_timestamp from {batch})",
        "earliest_applied_timestamp": f"(select min(dv_applied_timestamp) from {staged} where dv_batch_id = {own})",
        "newest_applied_timestamp": f"(select max(dv_applied_timestamp) from {staged} where dv_batch_id = {own})",
        "partition": f"'{date.today():%Y-%m-%d}'",
        "partition_applied": f"'{date.today():%Y-%m-%d}'",
        "valid_at": "sysdate()",
        "known_at": f"(select load_timestamp from {batch})",
        "first_load_timestamp": "'1900-01-01'",
        "last_load_timestamp": f"(select load_timestamp from {batch})",
        "now": "sysdate()",
        "source": _literal(source.name),
        "record_target": _literal(satellite.record_target),
        "step": _literal(f"satellite:{satellite.name}"),
    }
    return found | {name: _literal(value) for name, value in constants_of(source).items()}


def _literal(value: object) -> str:
    """A text as Snowflake reads it, where a backslash escapes."""
    if value is None:
        return "null"
    return "'" + str(value).replace("\\", "\\\\").replace("'", "''") + "'"
