"""`xts abandon`: give up a batch of which nothing but staged rows was written."""

from __future__ import annotations

import click

from xts_pipeline import ledger
from xts_pipeline.cli.options import Settings, vault_options
from xts_pipeline.cli.output import print_json, say


@click.command(short_help="Give up a batch of which nothing was written.")
@click.argument("batch_id")
@click.option("--yes", is_flag=True, help="Do not ask first.")
@vault_options
def abandon(settings: Settings, batch_id: str, yes: bool) -> None:
    """Give up the open batch BATCH_ID of which nothing but staged rows was written.

    It is then no replay target and every step refuses it; its partition can be loaded again. A batch that has written
    is refused: the next load of its source finishes it.
    """
    with settings.standing_warehouse() as warehouse:
        batch = ledger.abandonable(warehouse, batch_id)
        if not yes:
            click.confirm(
                f"Give up batch {batch_id} of {batch.source}, partition {batch.partition_key}, "
                f"{batch.rows_staged:,} staged rows?",
                abort=True,
                err=True,
            )
        abandoned = ledger.abandon_batch(warehouse, batch_id, ledger.utc_now())
    if settings.as_json:
        print_json(abandoned)
        return
    say(
        f"batch {batch_id} of {batch.source}, partition {batch.partition_key}, is abandoned: "
        "load the partition again when its delivery is right"
    )
