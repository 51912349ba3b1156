"""Show help in panels: common options first, others by subject, rare ones only with `--help-all`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from typer.core import TyperCommand

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
