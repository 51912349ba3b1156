"""The command-line application: the notes and errors that all commands share."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from shesha.cli._commands import add
from shesha.cli._options import name_options
from shesha.cli._outputs import INTERRUPTED, echo
from shesha.cli.monitor import monitor
from shesha.cli.package_commands import GROUP, PACKAGES, add_package_commands
from shesha.support import progress
from shesha.support.memory import is_memory_error, shortage
from shesha.support.optional import import_entry_points
from shesha.support.provenance import collect_statements
from shesha.support.warnings import MeasureWarning, warn
from shesha.support.wording import visible_name

BAD_INPUT = 2
_CODE_LINE = "\n    "


@contextmanager
def _visible_errors() -> Iterator[None]:
    """Show control characters of arguments as escapes in usage errors, which typer prints."""
    try:
        yield
    except Exception as error:
        if isinstance(message := getattr(error, "message", None), str):
            setattr(error, "message", visible_name(message))  # noqa: B010
        raise


class _Program(TyperGroup):
    """The group of all commands."""

    def make_context(self, *args: Any, **options: Any) -> Any:
        """Parse the options of the program."""
        with _visible_errors():
            return super().make_context(*args, **options)

    def invoke(self, ctx: Any) -> Any:
        """Find, parse and run the command."""
        with _visible_errors():
            return super().invoke(ctx)


app = typer.Typer(
    name="shesha",
    cls=_Program,
    help="Measure how stable and how similar representations are, and whether the results exceed chance.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    # Rich panels break words at the edge of the terminal.
    rich_markup_mode=None,
    context_settings={"help_option_names": ["--help", "-h"]},
)


COMMANDS = {
    "audit": "Measure stability, and check the data for problems.",
    "compare": "Measure how similar representations are.",
    "diff": "Report which layers a model change affected.",
    "layers": "Compare all layers of two models.",
    "drift": "Test whether two samples of inputs differ.",
    "index": "Measure what truncated or quantised vectors find.",
    "rank": "Rank models by how well they explain data.",
    "consensus": "Find the shape that representations share.",
    "extract": "Write the layers of a model to a file.",
    "measures": "List similarity measures, or describe one.",
    "scores": "List scores of one representation, or describe one.",
    "cite": "Print BibTeX for measures and scores.",
    "demo": "Show four questions and their answers on an example.",
    "doctor": "Show what is installed and what is missing.",
}
"""What each command does. It is the function of this name in the module of this name."""
for _name, _about in COMMANDS.items():
    add(app, _name, _about, (f"shesha.cli.{_name}", f"{_name}_command"))
app.add_typer(monitor, short_help="Check whether a deployed model or its inputs changed.")
add_package_commands(app)


def _print_version(requested: bool) -> None:
    if requested:
        from shesha.cli.doctor import version_line

        echo(version_line())
        raise typer.Exit


def _silence_progress(requested: bool) -> None:
    if requested:
        # The setting goes into the environment, which worker processes inherit.
        os.environ[progress.QUIET] = "1"


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_print_version,
            is_eager=True,
            help="Print the versions that affect numbers, and exit.",
        ),
    ] = False,
    quiet: Annotated[
        bool,
        typer.Option(
            "--quiet",
            "-q",
            callback=_silence_progress,
            is_eager=True,
            help="Print no progress and no notes, only warnings and errors.",
        ),
    ] = False,
) -> None:
    """Do nothing: the program's own options are all eager, so their callbacks do the work."""


def _say(message: str, colour: str | None = None) -> None:
    """Write a line to standard error, in colour on a terminal."""
    coloured = sys.stderr.isatty() and not os.environ.get("NO_COLOR")
    start = typer.style("shesha:", fg=colour, bold=True) if coloured else "shesha:"
    # Lines of code to copy are indented; no name of other people can begin a line at the margin.
    typer.echo(f"{start} {_CODE_LINE.join(map(visible_name, message.split(_CODE_LINE)))}", err=True)


def _print_warning(message: Warning | str, *_: object, **__: object) -> None:
    """Print a warning without its location in the code."""
    _say(name_options(str(message)), "yellow")


class _Notes(logging.Handler):
    """A log handler that prints the records of the library's loggers as notes."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print one record."""
        _say(record.getMessage(), "yellow" if record.levelno >= logging.WARNING else None)


@cache
def _add_plugin_commands() -> None:
    """Add the commands of other packages; report invalid ones, and never replace an existing command."""
    names = set(typer.main.get_group(app).commands)
    for name, function in import_entry_points(GROUP, "command"):
        if name in PACKAGES:
            continue
        if reason := "the name is in use" if name in names else _why_no_command(name, function):
            warn(f"command {name} was not added: {reason}", MeasureWarning)
        else:
            app.command(name)(function)
            names.add(name)


def _why_no_command(name: str, function: Any) -> str:
    """Return why a function cannot be a command, or an empty string if it can."""
    alone = typer.Typer(add_completion=False)
    try:
        alone.command(name)(function)
        typer.main.get_command(alone)
    except Exception as error:  # An invalid command of another package must not stop the program.
        return f"{type(error).__name__}: {error}"
    return ""


def _move_quiet_first(words: list[str]) -> list[str]:
    """Move --quiet to the front, so that it is also accepted after the command."""
    end = words.index("--") if "--" in words else len(words)
    quiet = [word for word in words[:end] if word in ("-q", "--quiet")]
    return [*quiet, *(word for word in words[:end] if word not in quiet), *words[end:]]


def main() -> None:
    """Run the program; on invalid input, print a message (with SHESHA_DEBUG a traceback) and exit with 2."""
    # If standard output is closed (`>&-`), printed text is discarded, but files are still written.
    sys.stdout = sys.stdout or Path(os.devnull).open("w")  # noqa: SIM115
    warnings.showwarning = _print_warning
    logging.getLogger("shesha").handlers = [_Notes()]
    _add_plugin_commands()
    try:
        with collect_statements():
            app(_move_quiet_first(sys.argv[1:]))
    except (ValueError, TypeError, OSError, ImportError, MemoryError) as error:
        if os.environ.get("SHESHA_DEBUG"):
            raise
        text = str(error)
        if is_memory_error(error):
            text = shortage(text)
        elif isinstance(error, OSError) and error.filename and error.strerror:
            # Without the number of the error, which says nothing to most readers.
            text = f"{error.filename}: {error.strerror}"
        _say(name_options(text) or type(error).__name__, "red")
        sys.exit(BAD_INPUT)
    except SystemExit as stop:
        # It is no error if a reader closes the pipe early, as `head` does, although Typer treats it as one.
        if isinstance(stop.__context__, BrokenPipeError):
            sys.exit(0)
        # Typer converts Ctrl-C into this status without a message.
        if stop.code == INTERRUPTED:
            cause = stop.__context__
            answers = getattr(cause and (cause.__cause__ or cause), "__notes__", ())
            _say("; ".join(("interrupted", *answers)))
        raise
