"""The application, and what every command does with errors."""

from __future__ import annotations

import os
import sys
import warnings
from typing import Annotated

import typer

from shesha.cli._files import INTERRUPTED
from shesha.cli.audit import audit_command
from shesha.cli.bench import bench
from shesha.cli.compare import compare_command
from shesha.cli.demo import demo_command
from shesha.cli.layers import layers_command
from shesha.cli.measures import measures_command
from shesha.cli.scores import scores_command

BAD_INPUT = 2

app = typer.Typer(
    name="shesha",
    help="The geometry of representations: how stable, how similar, above chance, and by which measure.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("audit")(audit_command)
app.add_typer(bench)
app.command("compare")(compare_command)
app.command("demo")(demo_command)
app.command("layers")(layers_command)
app.command("measures")(measures_command)
app.command("scores")(scores_command)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"shesha {version('shesha')}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Every option of the program itself is eager, so there is nothing left to do."""


def _tell(message: Warning | str, *_: object, **__: object) -> None:
    """Print a warning as a reader of the command line wants it: without the place in the code."""
    typer.echo(f"shesha: {message}", err=True)


def main() -> None:
    """Run the program: bad input ends with status 2 and a message (with SHESHA_DEBUG set, a traceback)."""
    warnings.showwarning = _tell
    try:
        app()
    except (ValueError, TypeError, OSError, ImportError, MemoryError) as error:
        if os.environ.get("SHESHA_DEBUG"):
            raise
        typer.echo(f"shesha: {error or type(error).__name__}", err=True)
        sys.exit(BAD_INPUT)
    except SystemExit as stop:
        # The command line library turns Ctrl-C into this status without a word.
        if stop.code == INTERRUPTED:
            typer.echo("shesha: interrupted", err=True)
        raise
