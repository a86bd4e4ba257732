"""The load cycle of a source as one op graph, whose outputs are assets with their true lineage.

SWITCH, then the XTS inserts, then each satellite on one of two branches, then the hub and link merges, then closing.
It cannot be subset: nobody loads a satellite without its SWITCH and its XTS insert.
"""

from __future__ import annotations

from typing import Any

import dagster as dg
from dagster._core.storage.tags import KIND_PREFIX

from xts_pipeline.cycle import ASSISTED, NORMAL
from xts_pipeline.metadata import OperatedSource, Parent, Satellite
from xts_pipeline.orchestration.cycle_ops import (
    LOADED,
    branches_of,
    close_op,
    hub_op,
    link_op,
    load_op,
    loaded_op,
    node_of,
    switch_op,
    xts_op,
)
from xts_pipeline.orchestration.nodes import KINDS, SourceNodes

# No op takes configuration. Where a graph says so, the snapshot of its job holds no schema of each op: a sixth of what
# the snapshots of two hundred sources cost, which Dagster makes whenever it loads the code.
NOTHING_TO_CONFIGURE = dg.ConfigMapping(config_fn=lambda _: {}, config_schema={})
KIND_TAGS = {f"{KIND_PREFIX}{kind}": "" for kind in KINDS}  # as `kinds` of a spec are kept

Wired = Any  # what an op gives when it is called inside a graph


def load_cycle(nodes: SourceNodes, operated: OperatedSource, backfill: dg.BackfillPolicy | None) -> dg.AssetsDefinition:
    """The assets of a source from the SWITCH to its hubs and links."""
    outputs = nodes.outputs
    graph = dg.graph(
        name=f"cycle_{nodes.name}",
        description=f"SWITCH, XTS insert, satellites, hubs and links of one or more batches of {nodes.name}.",
        ins={"start": dg.GraphIn()},
        out={output: dg.GraphOut() for output in outputs},
        config=NOTHING_TO_CONFIGURE,
    )(_wiring(nodes))
    return dg.AssetsDefinition.from_graph(
        graph,
        keys_by_input_name={"start": nodes.staged},
        keys_by_output_name=outputs,
        internal_asset_deps=nodes.lineage,
        partitions_def=nodes.batches,
        backfill_policy=backfill,
        group_name=operated.group_name,
        descriptions_by_output_name=_descriptions(nodes, operated),
        owners_by_output_name=dict.fromkeys(outputs, operated.owners),
        tags_by_output_name=dict.fromkeys(outputs, KIND_TAGS),
    )


def _wiring(nodes: SourceNodes) -> Any:
    loads = {kind: load_op(nodes, kind) for kind in (ASSISTED, NORMAL)}
    loaded = loaded_op(nodes)

    def load(satellite: Satellite, asked: Wired, logged: dict[Parent, Wired]) -> Wired:
        """Both branches of a satellite and their join, whose list input runs after either; without XTS the normal."""
        if satellite.xts_assisted:
            xts = logged[satellite.parent]
            taken = [loads[kind].alias(name)(getattr(xts, name)) for kind, name in branches_of(satellite).items()]
        else:
            taken = [loads[NORMAL].alias(branches_of(satellite)[NORMAL])(asked)]
        return loaded.alias(node_of(satellite, LOADED))(taken)

    def wire(start: Wired) -> dict[str, Wired]:
        outputs: dict[str, Wired] = {}
        outputs["xts_switch"], asked = switch_op(nodes)(start)
        logged = {parent: xts_op(nodes, parent)(asked) for parent in nodes.xts_parents}
        outputs |= {parent.xts_table: xts.asset for parent, xts in logged.items()}
        outputs |= {satellite.name: load(satellite, asked, logged) for satellite in nodes.source.satellites}
        before = [outputs[satellite.name] for satellite in nodes.source.satellites] or outputs["xts_switch"]
        merged = {table: hub_op(nodes, table, hubs)(after=before, verdicts=asked) for table, hubs in nodes.hubs.items()}
        hubs_merged = list(merged.values())
        for link in nodes.links:
            merged[link.table] = link_op(nodes, link)(after=hubs_merged, verdicts=asked)
        closed = close_op(nodes)(after=list(merged.values()), verdicts=asked)
        for table in merged:
            outputs[table] = closed if len(merged) == 1 else getattr(closed, table)
        return outputs

    return wire


def _descriptions(nodes: SourceNodes, operated: OperatedSource) -> dict[str, str]:
    written = {satellite.name: satellite.description for satellite in operated.satellites}
    source = nodes.name
    descriptions = {"xts_switch": f"The SWITCH of {source}: is a batch in sequence, satellite by satellite?"}
    for parent in nodes.xts_parents:
        descriptions[parent.xts_table] = f"What {source} logs in {parent.xts_table}: every hashdiff, even unchanged."
    for satellite in nodes.source.satellites:
        described = f"Columns {', '.join(satellite.columns)} of {satellite.parent.table}, from {source}."
        descriptions[satellite.name] = written[satellite.name] or described
    for table, hubs in nodes.hubs.items():
        descriptions[table] = f"What {source} brings to {table}, by {', '.join(hubs[0].columns)}."
    for link in nodes.links:
        descriptions[link.table] = f"What {source} brings to {link.table}."
    return descriptions
