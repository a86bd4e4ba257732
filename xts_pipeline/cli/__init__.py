"""The command `xts`: load deliveries, and see what the vault holds, whether it is right, and what it runs.

Exit codes: 0 all is well, 1 a check failed or a load was refused, 2 the command was not called right.
"""

from __future__ import annotations

import click

from xts_pipeline.cli.abandon import abandon
from xts_pipeline.cli.as_of import as_of
from xts_pipeline.cli.batches import batches
from xts_pipeline.cli.check import check
from xts_pipeline.cli.doctor import doctor
from xts_pipeline.cli.fields import fields
from xts_pipeline.cli.init import init
from xts_pipeline.cli.load import load
from xts_pipeline.cli.options import AS_JSON
from xts_pipeline.cli.output import print_json
from xts_pipeline.cli.render import render
from xts_pipeline.cli.status import status
from xts_pipeline.cli.violations import violations
from xts_pipeline.errors import XtsError
from xts_pipeline.ledger import CODE_VERSION


class XtsGroup(click.Group):
    """Prints the errors that are written for whoever must act on them, without a traceback."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order in which a vault's user comes to need them."""
        return list(self.commands)

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; an XtsError is its message on stderr, in JSON where that was asked for, and exit code 1."""
        try:
            return super().invoke(ctx)
        except XtsError as error:
            if not ctx.meta.get(AS_JSON):
                raise click.ClickException(str(error)) from error
            print_json({"error": type(error).__name__, "message": str(error)}, err=True)
            ctx.exit(1)


@click.group(cls=XtsGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(CODE_VERSION, package_name="xts-pipeline", prog_name="xts")
def main() -> None:
    """Data Vault satellites whose timeline is right whatever order the data arrives in.

    Sources are declared in YAML (`xts fields` lists what may stand there). Every command takes --json for machines:
    timestamps are UTC, ISO with Z, and a refusal is {"error": ..., "message": ...} on stderr.
    """


for command in (init, load, status, batches, violations, check, as_of, render, fields, doctor, abandon):
    main.add_command(command)
