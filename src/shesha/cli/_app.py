"""The application, and what every command does with errors."""

from __future__ import annotations

import os
import sys
import warnings
from functools import cache
from typing import Annotated, Any

import typer

from shesha._offers import offered
from shesha._version import DISTRIBUTION, __version__
from shesha._warnings import MeasureWarning, warn
from shesha.cli._files import INTERRUPTED
from shesha.cli._words import in_options
from shesha.cli.audit import audit_command
from shesha.cli.bench import bench
from shesha.cli.compare import compare_command
from shesha.cli.demo import demo_command
from shesha.cli.doctor import doctor_command
from shesha.cli.extract import extract_command
from shesha.cli.layers import layers_command
from shesha.cli.measures import measures_command
from shesha.cli.monitor import monitor
from shesha.cli.scores import scores_command
from shesha.cli.study import study

BAD_INPUT = 2
COMMANDS = "shesha.commands"
"""Group of functions that other packages offer as commands."""

app = typer.Typer(
    name="shesha",
    help="The geometry of representations: how stable, how similar, above chance, and by which measure.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    # Panels would cut words at the edge of the terminal.
    rich_markup_mode=None,
    context_settings={"help_option_names": ["--help", "-h"]},
)
app.command("audit")(audit_command)
app.add_typer(bench)
app.command("compare")(compare_command)
app.command("demo")(demo_command)
app.command("doctor")(doctor_command)
app.command("extract")(extract_command)
app.command("layers")(layers_command)
app.command("measures")(measures_command)
app.add_typer(monitor)
app.command("scores")(scores_command)
app.add_typer(study)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"{DISTRIBUTION} {__version__}")
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
    typer.echo(f"shesha: {in_options(str(message))}", err=True)


@cache
def _add_offered() -> None:
    """Add the commands of other packages; none takes the place of another, and what is no command is told."""
    taken = set(typer.main.get_group(app).commands)
    for name, function in offered(COMMANDS, "command"):
        if reason := "the name is taken" if name in taken else _why_no_command(name, function):
            warn(f"command {name} is left out: {reason}", MeasureWarning)
        else:
            app.command(name)(function)
            taken.add(name)


def _why_no_command(name: str, function: Any) -> str:
    """Say why a function cannot be a command, or nothing if it can."""
    alone = typer.Typer(add_completion=False)
    try:
        alone.command(name)(function)
        typer.main.get_command(alone)
    except Exception as error:  # Whatever another package offers must not take the program down.
        return f"{type(error).__name__}: {error}"
    return ""


def main() -> None:
    """Run the program: bad input ends with status 2 and a message (with SHESHA_DEBUG set, a traceback)."""
    warnings.showwarning = _tell
    _add_offered()
    try:
        app()
    except (ValueError, TypeError, OSError, ImportError, MemoryError) as error:
        if os.environ.get("SHESHA_DEBUG"):
            raise
        typer.echo(f"shesha: {in_options(str(error)) or type(error).__name__}", err=True)
        sys.exit(BAD_INPUT)
    except SystemExit as stop:
        # The command line library turns Ctrl-C into this status without a word.
        if stop.code == INTERRUPTED:
            typer.echo("shesha: interrupted", err=True)
        raise
