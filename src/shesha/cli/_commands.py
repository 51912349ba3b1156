"""Make commands of functions: options from parameters, texts from docstrings, and help in panels."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from shesha.cli._declarations import Declaration, sections
from shesha.cli._options import ARGUMENTS, COMPUTING, OPTIONS, RARE, TABLE, Option, flag, option_name
from shesha.cli._run import Run

_TYPES = {"int": int, "float": float, "bool": bool, "str": str, "Path": Path, "list[str]": list[str]}
_TYPES |= {"list[Path]": list[Path], "Seed": int}
_TYPES |= dict.fromkeys(("Aggregate", "Choice", "Correction", "IndexMetric", "Metric", "PairCount", "WeightsOf"), str)
"""Types of options by the annotation of their parameter. Parameters of other types have no option unless the table of
options gives a type."""
_NO_OPTION = frozenset({"row_map"})
"""Parameters of called functions that are no option, although they could be one."""
ALL = "--help-all"
FEW = 16
"""Number of arguments and options below which a command's help has no panels."""
_WANTS_ALL = "shesha.help_all"
_KEPT = "declared_command"


MODEL = "model texts layers pool batch_size device"
READING = "key layer_axis by_position id shared_rows missing transpose"
"""Options of commands that read representations from models and from files."""


FILES: Mapping[str, tuple[str, str]] = {
    "files": (
        "FILE...",
        "npy, npz, safetensors, pt, parquet, feather, csv, tsv, json, jsonl, txt, vec, bin, fvecs, mat, h5, h5ad, "
        "h5mu, loom, mtx, nc, nwb or zarr, or a directory of such files; each array is a representation.",
    )
}


def command(
    calls: str = "",
    also: str = "",
    first: str = "",
    without: str = "",
    texts: Mapping[str, tuple[str, str]] = MappingProxyType({}),
    completion: Any = None,
) -> Callable[[Any], Any]:
    """Declare that a function of a `Run` is a command.

    Its positional parameters become arguments, its keyword-only parameters options. Their texts, metavars (in place of
    types) and the examples are in its docstring.

    Parameters
    ----------
    calls : str
        The function that the command calls, as module:name. Its parameters become options as well.
    also : str
        Further options of the table.
    first : str
        The most common options, with which the help begins.
    without : str
        Parameters of the called function that are no option.
    texts : mapping
        Metavar and text of parameters that several commands have.
    completion : callable, optional
        Function that completes the arguments.
    """

    def mark(function: Any) -> Any:
        setattr(
            function, _KEPT, (calls, also.split(), first.split(), {*without.split(), *_NO_OPTION}, texts, completion)
        )
        return function

    return mark


def parameter_text(called: Declaration, name: str) -> str:
    """Return the beginning of a parameter's documentation as the help of an option.

    This is the first sentence with the possible values, and what is said about the default.
    """
    kind, text = called.text(name)
    start, *rest = re.split(r"(?<=\.) (?=[A-Z'])", re.sub(r" \(see `[^)]*\)", "", text))
    if values := re.match(r"\{(.*)\}", kind):
        *most, last = values[1].replace("'", "").split(", ")
        start = f"{start.removesuffix('.')} ({', '.join(most)} or {last})."
    shown = " ".join([start.removeprefix("Whether to "), *(one for one in rest if one.startswith("Default"))])
    named = re.sub(r"`(\w+)`", lambda match: flag(option_name(match[1])) if match[1] in ARGUMENTS else match[1], shown)
    return named[:1].upper() + named[1:]


class Signature:
    """The options of a command, made from its own parameters, those of the function that it calls, and the table."""

    def __init__(self, function: Any) -> None:
        calls, also, self.first, without, texts, self.completion = getattr(function, _KEPT)
        self.function = function
        module, _, name = calls.partition(":")
        self.called = Declaration.of(module, name) if calls else None
        parameters = self.called.parameters if self.called else {}
        of_called = {option_name(name): one for name, one in parameters.items() if name not in without}
        self.of_called = {name: one for name, one in of_called.items() if _is_option(name, one)}
        _, *own = inspect.signature(function).parameters.values()
        self.own = {one.name: one for one in own}
        self.names = list(dict.fromkeys([*self.own, *self.of_called, *also]))
        self.about, own_texts, self.examples = sections(inspect.getdoc(function) or "")
        self.texts = {**texts, **own_texts}

    def parameters(self) -> list[inspect.Parameter]:
        """Return the parameters that typer converts to arguments and options."""
        return [inspect.Parameter("context", _ANY, annotation=typer.Context), *map(self._parameter, self.names)]

    def _parameter(self, name: str) -> inspect.Parameter:
        option, own, of_called = OPTIONS.get(name, Option()), self.own.get(name), self.of_called.get(name)
        source = own or of_called
        kind, default = (source.annotation, source.default) if source else (option.type, option.default)
        if own is None and option.type:
            kind, default = option.type, False if option.type == "bool" else option.default
        metavar, text = self.texts.get(name, ("", ""))
        shown: dict[str, Any] = {"metavar": metavar or option.metavar}
        shown["help"] = (
            text or option.help or (parameter_text(self.called, of_called.name) if self.called and of_called else "")
        )
        type_ = _TYPES[kind.removesuffix(" | None")]
        if own is not None and own.kind is not own.KEYWORD_ONLY:
            declared = typer.Argument(**shown, show_default=False, autocompletion=self.completion)
        else:
            names = f"{flag(name)}/--no-{flag(name)[2:]}" if type_ is bool and default is not False else flag(name)
            declared = typer.Option(names, **shown, show_default=option.shows_default)
        annotation = type_ | None if kind.endswith(" | None") else type_
        return inspect.Parameter(name, _ANY, default=default, annotation=Annotated[annotation, declared])


_ANY = inspect.Parameter.KEYWORD_ONLY


def _is_option(name: str, parameter: inspect.Parameter) -> bool:
    """Return whether a parameter of a called function becomes an option."""
    kind = str(parameter.annotation).removesuffix(" | None")
    listed = bool(OPTIONS.get(name, Option()).type)
    return listed or kind in _TYPES


def _command_property(name: str) -> Any:
    """Return a property of the command that typer makes; assignments by the constructor have no effect."""
    return property(lambda self: getattr(self.typer_command, name), lambda self, value: None)


class Command(TyperCommand):
    """A command that is made when its options or its help are first needed, so that others need not be imported.

    Its help shows many options in panels.
    """

    def __init__(self, *args: Any, callback: Any = None, **settings: Any) -> None:
        self._stub = callback
        super().__init__(*args, callback=callback, **settings)

    @cached_property
    def typer_command(self) -> Any:
        """The command that typer makes of the function."""
        module, name = self._stub.place
        function = getattr(import_module(module), name)
        signature = Signature(function)

        def callback(context: Any, **values: Any) -> None:
            function(Run(context, values), **{name: values[name] for name in signature.own})

        callback.__signature__ = inspect.Signature(signature.parameters())  # type: ignore[attr-defined]
        callback.__annotations__ = {}
        alone = typer.Typer(add_completion=False)
        lines = "\n".join(f"  {line.strip()}" for line in signature.examples.splitlines())
        # \b keeps each example on a line of its own.
        epilog = f"\b\nExamples:\n{lines}" if lines else None
        alone.command(self.name, help=signature.about, epilog=epilog)(callback)
        command: Any = typer.main.get_command(alone)
        command.first = tuple(map(flag, signature.first))
        return command

    params: Any = _command_property("params")
    callback: Any = _command_property("callback")
    help: Any = _command_property("help")
    epilog: Any = _command_property("epilog")

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
        arguments: list[tuple[str, str]] = []
        options: dict[str, tuple[str, str]] = {}
        for parameter in self.get_params(ctx):
            record: Any = parameter.get_help_record(ctx)
            if parameter.param_type_name == "argument":
                arguments.append(record)
            else:
                options[next(name for name in parameter.opts if name.startswith("--"))] = record
        rare = [] if ctx.meta.get(_WANTS_ALL) else [name for name in options if name in map(flag, RARE)]
        shown = {name: record for name, record in options.items() if name not in rare}
        if rare:
            words = ", ".join(name.strip("-").replace("-", " ") for name in rare)
            shown[ALL] = (ALL, f"Show this message with {len(rare)} more options: {words}.")
        _write(formatter, "Arguments", arguments)
        for title, names in _panels(self.typer_command.first, shown):
            _write(formatter, title, [shown[name] for name in names])


def require_words(words: Sequence[str]) -> None:
    """Refuse empty arguments (often unset shell variables), which as paths mean the current directory."""
    for before, word in zip(("", *words), words, strict=False):
        if word == "":
            name = before if before.startswith("-") else "FILE"
            raise ValueError(f"{name} must not be empty, got ''")


def _panels(common: Sequence[str], names: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Yield each panel with its options, in panel order; every option is in exactly one panel."""
    first = [name for name in (*common, "--help", ALL) if name in names]
    yield ("Common options" if common else "Options"), first
    rest = [name for name in names if name not in first]
    placed = {flag(name) for panel, options in TABLE.items() if panel != COMPUTING for name in options}
    for title, options in TABLE.items():
        every = map(flag, options) if title != COMPUTING else [name for name in rest if name not in placed]
        if chosen := [name for name in every if name in rest]:
            yield title, chosen


def _write(formatter: Any, title: str, records: list[tuple[str, str]]) -> None:
    if records:
        with formatter.section(title):
            formatter.write_dl(records)


def add(group: typer.Typer, name: str, about: str, place: tuple[str, str]) -> None:
    """Add a command to a group; its module and function are imported when it is used."""

    def stub() -> None:
        """Stand for the command."""

    stub.place = place  # type: ignore[attr-defined]
    group.command(name, cls=Command, short_help=about)(stub)
