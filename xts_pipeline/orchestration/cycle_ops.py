"""The ops of a load cycle: each calls one step of `xts_pipeline.cycle` for every batch of the run, oldest stamp first.

Asset outputs carry nothing. What the SWITCH said travels on outputs inside the graph, kept by a persistent IO manager
under run and step, so that a re-execution from failure finds it; a load step asks the SWITCH again all the same.
"""

# No postponed annotations here: Dagster reads the type of `context` from the function itself.

import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import dagster as dg

from xts_pipeline.cycle import ASSISTED, NORMAL, insert_xts, load_satellite, merge_hub, merge_link, switch
from xts_pipeline.ledger import Batch, close_batch, utc_now
from xts_pipeline.metadata import Hub, Link, Parent, Satellite
from xts_pipeline.orchestration import evidence
from xts_pipeline.orchestration.faults import working_vault
from xts_pipeline.orchestration.nodes import SourceNodes
from xts_pipeline.orchestration.records import Records
from xts_pipeline.orchestration.resource import VaultResource
from xts_pipeline.orchestration.run_batches import Verdicts, batches_of, batches_of_partitions, finish_older
from xts_pipeline.orchestration.telling import Progress, record
from xts_pipeline.vault import Vault

LOADED = "loaded"
FINISHED_PARTITIONS = "xts/finished_older_partitions"  # in the metadata of the SWITCH: those of other runs
VERDICTS_IO = "verdicts_io"  # the IO manager of what travels inside the graph


def _verdicts_out(**kwargs: Any) -> dg.Out:
    return dg.Out(dict, io_manager_key=VERDICTS_IO, description="Batch: satellite: normal or assisted.", **kwargs)


def _asset_and_verdicts() -> dict[str, dg.Out]:
    return {"asset": dg.Out(dg.Nothing), "verdicts": _verdicts_out()}


def _op(**declared: Any) -> Callable[[Callable[..., Any]], dg.OpDefinition]:
    """`dg.op` of a function that knows its own signature, which Dagster asks for fifteen times while it makes an op."""

    def make(work: Callable[..., Any]) -> dg.OpDefinition:
        work.__signature__ = inspect.signature(work)  # type: ignore[attr-defined]
        made: dg.OpDefinition = dg.op(**declared)(work)
        return made

    return make


def switch_op(nodes: SourceNodes) -> dg.OpDefinition:
    """Ask the SWITCH of every satellite and batch, after older open batches are finished."""

    @_op(
        name=f"switch_{nodes.name}",
        pool=nodes.pool,
        description="Finishes older open batches of the source, then asks the SWITCH: is the batch in sequence?",
        ins={"start": dg.In(dg.Nothing)},
        out=_asset_and_verdicts(),
    )
    def ask(context: dg.AssetExecutionContext, vaults: VaultResource) -> Iterator[dg.Output[Any]]:
        source, run = nodes.source, context.run.run_id
        verdicts: Verdicts = {}
        with working_vault(context, vaults, nodes.catalog) as vault:
            batches = batches_of_partitions(vault, source, context.partition_keys)
            finished = finish_older(vault, source, batches, run)
            progress = Progress(context, len(batches))
            for batch in batches:
                asked = {
                    satellite.name: switch(vault.warehouse, source, satellite, batch, run).figures.verdict or NORMAL
                    for satellite in source.satellites
                }
                verdicts[batch.batch_id] = asked
                progress.say(f"{batch.partition_key}: {asked or 'no satellites to ask for'}")
            records, older = Records(vault, batches, run), _finished(context, finished)
            told = {batch.partition_key: {**evidence.of_switch(records, batch), **older} for batch in batches}
            record(context, nodes.switch, told)
        yield dg.Output(None, "asset")
        yield dg.Output(verdicts, "verdicts")

    return ask


def _finished(context: dg.AssetExecutionContext, finished: Sequence[Batch]) -> dict[str, Any]:
    if not finished:
        return {}
    named = [f"{batch.partition_key} ({batch.batch_id})" for batch in finished]
    context.log.warning(f"finished older open batches, which other runs had left: {', '.join(named)}")
    partitions = list(dict.fromkeys(batch.partition_key for batch in finished))
    return {"xts/finished_older_batches": named, FINISHED_PARTITIONS: partitions}


def xts_op(nodes: SourceNodes, parent: Parent) -> dg.OpDefinition:
    """Log the facts of every satellite of one parent in its XTS, then send each satellite to one of its two loads."""
    satellites = [sat for sat in nodes.source.satellites if sat.parent == parent and sat.xts_assisted]
    branches = {branch: _verdicts_out(is_required=False) for sat in satellites for branch in branches_of(sat).values()}

    @_op(
        name=f"xts_{nodes.name}_{parent.table}",
        pool=nodes.pool,
        description=f"Logs every staged hashdiff in {parent.xts_table}, whatever the SWITCH said. A satellite's load "
        "is assisted when the SWITCH found any batch of the run out of sequence, else normal.",
        out={"asset": dg.Out(dg.Nothing), **branches},
    )
    def log_facts(
        context: dg.AssetExecutionContext, vaults: VaultResource, verdicts: dict[str, Any]
    ) -> Iterator[dg.Output[Any]]:
        with working_vault(context, vaults, nodes.catalog) as vault:
            batches = batches_of(vault, verdicts)
            for batch in batches:
                for satellite in satellites:
                    insert_xts(vault.warehouse, nodes.source, satellite, batch, context.run.run_id)
            records = Records(vault, batches, context.run.run_id)
            told = {batch.partition_key: evidence.of_xts(records, batch, parent.xts_table) for batch in batches}
            record(context, nodes.of_table(parent.xts_table), told)
        yield dg.Output(None, "asset")
        for satellite in satellites:
            late = any(asked[satellite.name] == ASSISTED for asked in verdicts.values())
            yield dg.Output(verdicts, branches_of(satellite)[ASSISTED if late else NORMAL])

    return log_facts


def branches_of(satellite: Satellite) -> dict[str, str]:
    """Branch of a satellite: the node that does it, and the output that leads there."""
    return {kind: node_of(satellite, kind) for kind in (ASSISTED, NORMAL)}


def node_of(satellite: Satellite, what: str) -> str:
    """The node that does something for a satellite; what it does stands last, since Dagster shortens names before."""
    return f"{satellite.name}_{what}"


def load_op(nodes: SourceNodes, kind: str) -> dg.OpDefinition:
    """Load a satellite of the source on one of the two branches; each node of it is named after its satellite."""
    what = "puts late rows in their place" if kind == ASSISTED else "appends what changed"

    @_op(
        name=f"{kind}_{nodes.name}",
        pool=nodes.pool,
        description=f"The {kind} load of a satellite: {what}. Asks the SWITCH again in its own transaction.",
        out=_verdicts_out(),
    )
    def load(context: dg.AssetExecutionContext, vaults: VaultResource, verdicts: dict[str, Any]) -> dict[str, Any]:
        satellite = _satellite_of_node(context, nodes, kind)
        with working_vault(context, vaults, nodes.catalog) as vault:
            batches = batches_of(vault, verdicts)
            progress = Progress(context, len(batches))
            for batch in batches:
                asked = verdicts[batch.batch_id][satellite.name]
                result = load_satellite(vault.warehouse, nodes.source, satellite, batch, asked, context.run.run_id)
                progress.say(
                    f"{batch.partition_key}: {result.figures.verdict} load, {result.figures.rows_inserted} inserted, "
                    f"{result.figures.rows_copied} copied{' (done before)' if result.already_done else ''}"
                )
                if result.figures.verdict != asked:
                    context.log.warning(f"{batch.partition_key}: the SWITCH had said {asked}")
        return verdicts

    return load


def loaded_op(nodes: SourceNodes) -> dg.OpDefinition:
    """Say what was loaded into a satellite of the source, whichever branch it took."""

    @_op(
        name=f"{LOADED}_{nodes.name}",
        pool=nodes.pool,
        description="Joins the two branches of a satellite: runs after the one that was taken.",
        out=dg.Out(dg.Nothing),
    )
    def loaded(context: dg.AssetExecutionContext, vaults: VaultResource, either: list[Any]) -> None:
        satellite = _satellite_of_node(context, nodes, LOADED)
        with working_vault(context, vaults, nodes.catalog) as vault:
            records = Records(vault, batches_of(vault, either[0]), context.run.run_id)
            schema = evidence.column_schema(records, satellite.table) | evidence.column_lineage(nodes, satellite.table)
            told = {
                batch.partition_key: {**evidence.of_satellite(records, batch, satellite), **schema}
                for batch in records.batches
            }
            record(context, nodes.of_satellite(satellite), told)

    return loaded


def _satellite_of_node(context: dg.AssetExecutionContext, nodes: SourceNodes, what: str) -> Satellite:
    """The satellite that a node of an op is named after: one op a source serves all its satellites."""
    node = context.op_execution_context.op_handle.name
    return next(satellite for satellite in nodes.source.satellites if node_of(satellite, what) == node)


def hub_op(nodes: SourceNodes, table: str, hubs: Sequence[Hub]) -> dg.OpDefinition:
    """Merge the business keys of every batch into a hub, role by role."""

    def merge(vault: Vault, batch: Batch, run: str) -> None:
        for hub in hubs:
            merge_hub(vault.warehouse, nodes.source, hub, batch, run)

    description = f"Merges the business keys into {table}: one row a key, and the first load wins."
    return _merge_op(nodes, table, description, merge)


def link_op(nodes: SourceNodes, link: Link) -> dg.OpDefinition:
    """Merge the combinations of business keys of every batch into a link."""

    def merge(vault: Vault, batch: Batch, run: str) -> None:
        merge_link(vault.warehouse, nodes.source, link, batch, run)

    description = f"Merges the combinations of business keys into {link.table}: the first load wins."
    return _merge_op(nodes, link.table, description, merge)


def _merge_op(
    nodes: SourceNodes, table: str, description: str, merge: Callable[[Vault, Batch, str], None]
) -> dg.OpDefinition:
    """An op that merges each batch of the run into one table, after the satellites."""

    @_op(
        name=f"merge_{nodes.name}_{table}",
        pool=nodes.pool,
        description=description,
        ins={"after": dg.In(dg.Nothing)},
        out=dg.Out(dg.Nothing),
    )
    def merge_batches(context: dg.AssetExecutionContext, vaults: VaultResource, verdicts: dict[str, Any]) -> None:
        with working_vault(context, vaults, nodes.catalog) as vault:
            for batch in batches_of(vault, verdicts):
                merge(vault, batch, context.run.run_id)

    return merge_batches


def close_op(nodes: SourceNodes) -> dg.OpDefinition:
    """Close the batches; gives the hubs and links, and records on the shared tables' own nodes that they were loaded.

    Dagster wants every leaf of an asset graph to make an asset, and this is the last op: hence hubs and links are made
    here and not where they are merged.
    """
    merged = nodes.merged

    @_op(
        name=f"close_{nodes.name}",
        pool=nodes.pool,
        description="Closes the batches of the run: from here on, what is known up to their load timestamp is final.",
        ins={"after": dg.In(dg.Nothing)},
        out={table: dg.Out(dg.Nothing) for table in merged},
    )
    def close(
        context: dg.AssetExecutionContext, vaults: VaultResource, verdicts: dict[str, Any]
    ) -> Iterator[dg.Output[Any]]:
        with working_vault(context, vaults, nodes.catalog) as vault:
            records = Records(vault, batches_of(vault, verdicts), context.run.run_id)
            for batch in records.batches:
                close_batch(vault.warehouse, batch, utc_now())
            for table, kind in merged.items():
                schema = evidence.column_schema(records, table) | evidence.column_lineage(nodes, table)
                told = {
                    batch.partition_key: {**evidence.of_merge(records, batch, kind, table), **schema}
                    for batch in records.batches
                }
                record(context, nodes.of_table(table), told)
            for table in nodes.shared_tables:
                metadata = evidence.of_table(records, nodes.source, table)
                context.log_event(dg.AssetMaterialization(nodes.table_node(table), metadata=metadata))
        for table in merged:
            yield dg.Output(None, table)

    return close
