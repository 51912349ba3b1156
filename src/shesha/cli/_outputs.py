"""Output files of the commands, which are checked before the work starts and written atomically."""

from __future__ import annotations

import hashlib
import os
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from shesha.cli._options import name_options, name_values
from shesha.support import files as atomic_files
from shesha.support.optional import require
from shesha.support.provenance import add_statements, current_statements
from shesha.support.sqlite import COMPANIONS
from shesha.support.wording import visible, visible_name

if TYPE_CHECKING:
    from shesha.report import Page


def describe_inputs(files: Sequence[Path], model: object) -> str:
    """Return a name for the data on a card: the files, or the model that produced the data."""
    return ", ".join(path.name for path in files) or str(model)


def what_was_run(files: Sequence[Path]) -> dict[str, str]:
    """Return the command and a fingerprint of each file, from which readers can identify the files."""
    facts = {"command": shlex.join(["shesha", *sys.argv[1:]])}
    return facts | {f"file {path}": fingerprint(path) for path in files if path.exists()}


def fingerprint(path: Path) -> str:
    """Return a file's size and SHA-256, or for a folder a hash over the names and hashes of its files."""
    if path.is_dir():
        inside = sorted(file for file in path.rglob("*") if file.is_file())
        lines = [f"{file.relative_to(path).as_posix()} {fingerprint(file)}" for file in inside]
        all_digests = hashlib.sha256("\n".join(lines).encode(errors="surrogateescape")).hexdigest()
        return f"{len(inside):,} files, SHA-256 {all_digests} of their names and hashes"
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return f"{path.stat().st_size:,} bytes, SHA-256 {digest}"


INTERRUPTED = 130
"""Exit status after Ctrl-C, as in shells."""
_WHOLE = ("zarr.json", ".zgroup", ".zarray", "config.json")
"""Files that mark a folder as a store or a model, into which no output may be written."""
PICTURES = (".png", ".pdf", ".svg")


@dataclass(frozen=True)
class Outputs:
    """The output files of a command."""

    json: Path | None = None
    plot: Path | None = None
    html: Path | None = None
    card: Path | None = None
    inputs: Iterable[str | Path | None] = ()
    """The inputs of the command as typed: files, FILE:COLUMN, or names of columns."""
    explore: Path | None = None
    title: str | None = None
    """Title of the picture."""
    full: bool | None = False
    """Whether to print everything, not only the first screen."""

    def __post_init__(self) -> None:
        """Check, before the long work, that all outputs can be written and none overwrites an input."""
        for path in self._files_by_option.values():
            require_writable(path)
        require_picture(self.plot)
        require_page(self.html)
        require_page(self.explore, "--explore")
        self.require_separate(self.inputs)
        if self.title is not None and self.plot is None:
            raise ValueError(f"--title must come with --plot, got {self.title!r} alone")

    @property
    def _files_by_option(self) -> dict[str, Path | None]:
        return {f"--{name}": getattr(self, name) for name in ("json", "plot", "html", "card", "explore")}

    def require_separate(self, inputs: Iterable[str | Path | None]) -> None:
        """Refuse outputs that would overwrite an input."""
        require_separate(self._files_by_option, inputs)

    def write(
        self,
        result: Any,
        files: Sequence[Path],
        *,
        report: Callable[[Any], str] | None = None,
        notes: Sequence[str] = (),
        content: dict[str, Any] | None = None,
        picture: Callable[[], Any] | None = None,
        row_map: Callable[[Mapping[str, str]], Page] | None = None,
        data: str = "",
        model: str = "",
        brief: bool = False,
    ) -> None:
        """Print a result, and write the requested files.

        Parameters
        ----------
        result : Result
            The result, whose page, card and plain values are computed only if requested.
        files : sequence of Path
            Input files, of which the page and the card report fingerprints.
        report : callable
            Function that returns the text of the result. Default: its first screen, or everything if `full`.
        content : optional
            Plain values to write instead of those of the result.
        notes : sequence of str
            Lines to print after the text of the result.
        picture : callable, optional
            Function that draws the picture and returns its axes. Default: the `plot` method of the result.
        row_map : callable, optional
            Function that returns the page with a map of the rows. Default: no map.
        data, model : str, optional
            Names of the data and of the model on the card.
        brief : bool
            Whether to omit the sentence for a paper from the first screen.

        Raises
        ------
        typer.Exit
            If the work was interrupted. The incomplete result is written first, then the exit status is 130.
        """
        from shesha.report import as_text

        result = add_statements(result, current_statements())
        plot, card = self.plot, self.card
        numbers = result.to_dict() if content is None else content
        if result.inputs:
            numbers = {**numbers, "inputs": list(result.inputs)}
        if report is None and self.full:
            shown = "\n".join([result.full_text(), *notes])
        else:
            is_complete = self.full or not (brief or getattr(result, "interrupted", False))
            sentence = as_text(result.sentence_sections()) if is_complete else ""
            shown = "\n\n".join(filter(None, ["\n".join([(report or _first_screen)(result), *notes]), sentence]))
        shown = name_values(shown)
        # The numbers are written first, and other outputs do not stop each other, so that a failing picture loses
        # nothing.
        failures = [
            *([] if str(self.json) == "-" else print_report(shown)),
            *write_output("--json", self.json, lambda: emit_numbers(numbers, self.json)),
            *write_output("--html", self.html, lambda: save_page(self.html, result.page, files)),
            *write_output("--explore", self.explore, lambda: save_page(self.explore, row_map, files)),
            *write_output("--card", card, lambda: save_card(card, result.card, files, data, model)),
            *write_output("--plot", plot, lambda: save_picture(plot, picture or (lambda: result.plot()), self.title)),
        ]
        if failures:
            raise OSError("; ".join(failures))
        if getattr(result, "interrupted", False):
            raise typer.Exit(INTERRUPTED)


def _first_screen(result: Any) -> str:
    return str(result.first_screen("More: --full prints everything, and --html FILE writes a page."))


def print_report(report: str) -> Iterable[str]:
    """Print a report, and yield the reason if it could not be printed; a closed pipe is no failure."""
    try:
        say(report)
    except BrokenPipeError:
        # The rest of the buffer cannot be printed either, so discard it.
        sys.stdout = Path(os.devnull).open("w")  # noqa: SIM115
    except OSError as error:
        yield f"the report was not printed: {error.strerror or error}"


def write_output(option: str, path: Path | None, action: Callable[[], Any]) -> Iterable[str]:
    """Write one file, and yield the reason if it could not be written."""
    try:
        action()
    except OSError as error:
        yield f"{option} {path} was not written: {error.strerror or error}"


def require_separate(outputs: Mapping[str, Path | None], inputs: Iterable[str | Path | None]) -> None:
    """Refuse two outputs to the same file, and outputs that would overwrite an input."""
    chosen = [(option, path) for option, path in outputs.items() if path is not None and str(path) != "-"]
    for number, (option, path) in enumerate(chosen):
        for other, earlier in chosen[:number]:
            if is_same_file(path, earlier) and not atomic_files.is_stream(path):
                raise ValueError(f"{option} and {other} must name different files, got {path} for both")
        for value in inputs:
            if value is not None and any(_is_read(path, source) for source in _paths_in(str(value))):
                raise ValueError(f"{option} must name a file that the command does not read, got {path}")


def _is_read(path: Path, source: Path) -> bool:
    """Return whether an output path is an input of the command, or lies in an input folder."""
    if any(is_same_file(path, Path(f"{source}{suffix}")) for suffix in ("", *COMPANIONS)):
        return True
    root, place = Path(os.path.realpath(source)), Path(os.path.realpath(path))
    if not root.is_dir() or root not in place.parents:
        return False
    from shesha.io.formats import is_readable

    folders = [folder for folder in place.parents if folder == root or root in folder.parents]
    is_input_part = any((folder / name).exists() for folder in folders for name in _WHOLE)
    return is_input_part or (place.exists() and is_readable(place))


def _paths_in(value: str) -> list[Path]:
    """Return the paths that an argument may mean: all of it, or the part before the colon in FILE:COLUMN."""
    return [Path(value), *([Path(value.rpartition(":")[0])] if ":" in value else [])]


def is_same_file(one: Path, other: Path) -> bool:
    """Return whether two paths lead to the same file, directly or by links."""
    if one.exists() and other.exists():
        return one.samefile(other)
    return os.path.realpath(one) == os.path.realpath(other)


def require_writable(path: Path | None) -> None:
    """Check, before the long work, that a file can be written."""
    if path is None or str(path) == "-":
        return
    if path.is_dir():
        raise IsADirectoryError(f"output must be a file, got the directory {path}")
    if not path.absolute().parent.is_dir():
        raise FileNotFoundError(f"output must be in an existing folder, got {path}")
    atomic_files.require_replaceable(path)
    if not atomic_files.is_stream(path) and not os.access(path.absolute().parent, os.W_OK):
        # A file is first written under a temporary name in the same folder.
        raise PermissionError(f"output must be in a writable folder, got {path}")


def require_picture(path: Path | None) -> None:
    """Refuse picture formats that are not supported."""
    if path is not None and path.suffix.lower() not in PICTURES:
        raise ValueError(f"--plot must end in one of {', '.join(PICTURES)}, got {str(path)!r}")


def require_page(path: Path | None, option: str = "--html") -> None:
    """Check, before the long work, that a page can be made and written."""
    require_writable(path)
    if path is not None:
        require("jinja2", "report", f"{option} needs Jinja2")


def save_page(path: Path | None, page: Callable[[Mapping[str, str]], Page] | None, files: Sequence[Path]) -> None:
    """Write a page, if requested, with the command and the fingerprints of its input files.

    `page` takes information about the run and returns the page. It is called only if a page was requested.
    """
    if path is None or page is None:
        return
    from shesha.report import Point, as_html

    found = page(what_was_run(files))
    doubts = tuple(
        replace(part, text=name_options(part.text), advice=name_options(part.advice))
        if isinstance(part, Point)
        else part
        for part in found.doubts
    )
    write(path, as_html(replace(found, doubts=doubts)))


def save_card(path: Path | None, card: Callable[..., str], files: Sequence[Path], data: str, model: str = "") -> None:
    """Write a card, if requested; print a note if the result has no number for a card.

    `card` takes the names of the data and the model, and information about the run, and returns the card.
    """
    if path is None:
        return
    try:
        text = card(data=data, model=model, about=what_was_run(files))
    except ValueError as error:
        echo(f"shesha: no card was written: {error}", err=True)
        return
    write(path, text)


def save_picture(path: Path | None, draw: Callable[[], Any], title: str | None = None) -> None:
    """Draw a picture, if requested, into a temporary file first, so that no reader sees it incomplete."""
    if path is None:
        return
    with atomic_files.replacing(path) as draft:
        axes = draw()
        if title is not None:
            from shesha.charts import set_title

            set_title(axes, title)
        axes.figure.savefig(draft, dpi=150, format=path.suffix.lower().removeprefix("."))


def emit(report: str, content: dict[str, Any], json: Path | None) -> None:
    """Print the report, and write or print all numbers if requested."""
    if str(json) != "-":
        say(report)
    emit_numbers(content, json)


def emit_numbers(content: dict[str, Any], json: Path | None) -> None:
    """Write or print all numbers if requested."""
    if json is not None:
        write(json, as_json(content) + "\n")


def echo(*lines: object, err: bool = False) -> None:
    """Print lines, in which control characters and line breaks from names of other people appear as escapes."""
    typer.echo("\n".join(visible_name(str(line)) for line in lines), err=err)


def say(report: str) -> None:
    """Print a report, in colour if the output is a terminal."""
    from shesha.report import colour_report, use_colour

    colour, safe = use_colour(), visible(report)
    typer.echo(colour_report(safe) if colour else safe, color=colour)


def as_json(content: dict[str, Any]) -> str:
    """Return the content as standard JSON, in which missing numbers are null."""
    import json

    from shesha._version import __version__
    from shesha.results.base import replace_non_json

    return json.dumps(replace_non_json({"shesha": __version__, **content}), indent=2, allow_nan=False)


def write(path: Path, text: str) -> None:
    """Write a complete file; - is standard output."""
    if str(path) == "-":
        typer.echo(text, nl=False)
        return
    atomic_files.write_text(path, text)
