"""What the commands share: reading representations, and writing what they found."""

from __future__ import annotations

import hashlib
import os
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from shesha import _atomic
from shesha._optional import require

if TYPE_CHECKING:
    from shesha.report import Page

INTERRUPTED = 130
"""Exit status of a run that Ctrl-C ended, as shells have it."""
LayerAxis = Annotated[
    str,
    typer.Option(
        "--layer-axis",
        metavar="0|1|2|none",
        help="Axis of a 3-D array that counts layers; none: it is one representation, of token sequences.",
        show_default="1, or 0 if the first axis is at most a third as long",
    ),
]
"""The option by which commands read arrays of three dimensions; 'guess' where it is not given."""
ByPosition = Annotated[
    bool, typer.Option("--by-position", help="Row i of all files is the same input, whatever names the rows have.")
]
"""The option by which commands take rows as they stand instead of matching them by their names."""
Distances = Annotated[bool, typer.Option("--rdm", help="The arrays are distances between rows, not features.")]
"""The option by which commands read distances: square, condensed, or stacks of square ones."""
PICTURES = (".png", ".pdf", ".svg")


def read_representations(
    files: list[Path],
    keys: list[str] | None,
    labels_inside: str | Sequence[str] | None = None,
    layer_axis: str = "guess",
    *,
    by_position: bool = False,
    fewest: int = 0,
    distances: bool = False,
) -> dict[str, Any]:
    """Read every array of every file; a name that two files use is told apart by its file.

    What has fewer columns than `fewest` is left out, unless it was named, or its file holds nothing else.
    Where a file names its rows, the arrays carry these names, so that whatever takes them can match the rows.

    How arrays of three dimensions were read is said, so whatever takes the result need not guess again: it gets
    ``layer_axis=None``.
    """
    from shesha.comparison._index import too_narrow
    from shesha.given import NamedRows
    from shesha.io import open_file
    from shesha.io._names import full_name
    from shesha.views import Rdm

    axis = layer_axis_of(layer_axis)

    repeated = [str(path) for path in dict.fromkeys(files) if files.count(path) > 1]
    if repeated:
        raise ValueError(f"FILE must be given once each, got {', '.join(repeated)} repeatedly")
    found: dict[str, Any] = {}
    for path in files:
        contents = open_file(path, keys=keys, labels_column=labels_inside, layer_axis=axis, distances=distances)
        rows = None if by_position else contents.row_names
        few = too_narrow({name: one.shape for name, one in contents.representations.items()}, keys, fewest)
        for name, reason in few.items():
            typer.echo(f"{path}: skipped {name}: {reason}", err=True)
        for name, array in contents.representations.items():
            if name in few:
                continue
            full = full_name(path, name, found, alone=len(files) == 1)
            found[full] = array if rows is None else NamedRows(array, rows)
            if distances:
                found[full] = Rdm(found[full], full)
        if keys is None:
            for name, reason in contents.skipped.items():
                if name != labels_inside and name not in (labels_inside or ()):
                    typer.echo(f"{path}: skipped {name}: {reason}", err=True)
        for name, split in contents.split.items():
            if split.doubtful:
                typer.echo(f"{path}: {name} is {split.said('--layer-axis ')}", err=True)
    return found


def labels_of(path: Path, column: str | None, *, by_position: bool = False) -> Any:
    """Read labels, with the names of the rows where the file has some, unless rows are taken as they stand."""
    from shesha.io import read_labels
    from shesha.io._open import read_named_labels

    return read_labels(path, column) if by_position else read_named_labels(path, column)


def hold_directories(files: Sequence[Path]) -> bool:
    """Whether one of the paths is a directory of files."""
    from shesha.comparison._index import is_folder

    return any(map(is_folder, files))


def first_of(files: Sequence[Path]) -> Path:
    """Return the first file, of a directory the first in it: where columns of labels are looked for."""
    from shesha.comparison._index import is_folder
    from shesha.io._open import formats

    if not is_folder(files[0]):
        return files[0]
    known = formats()
    inside = [one for one in sorted(files[0].iterdir()) if one.suffix.lower() in known]
    return inside[0] if inside else files[0]


def layer_axis_of(text: str) -> int | Literal["guess"] | None:
    """Return what --layer-axis stands for."""
    if text not in ("0", "1", "2", "none", "guess"):
        raise ValueError(f"--layer-axis must be 0, 1, 2 or none, got {text!r}")
    return "guess" if text == "guess" else None if text == "none" else int(text)


def require_picture(path: Path | None) -> None:
    """Refuse a picture of a kind that cannot be drawn."""
    if path is not None and path.suffix.lower() not in PICTURES:
        raise ValueError(f"--plot must end in one of {', '.join(PICTURES)}, got {str(path)!r}")


def require_writable(path: Path | None) -> None:
    """Refuse, before the long work, to write where no file can be."""
    if path is None or str(path) == "-":
        return
    if path.is_dir():
        raise IsADirectoryError(f"the file to write must be a file, got the directory {path}")
    if not path.absolute().parent.is_dir():
        raise FileNotFoundError(f"the folder of the file to write must exist, got {path}")
    if not os.access(path.absolute().parent, os.W_OK):
        # A file is written beside its place first.
        raise PermissionError(f"the folder of the file to write must be one where files may be written, got {path}")


def as_json(content: dict[str, Any]) -> str:
    """Return standard JSON, where a missing number is null."""
    import json

    from shesha._version import __version__
    from shesha.results._base import standard

    return json.dumps(standard({"shesha": __version__, **content}), indent=2, allow_nan=False)


def save_picture(path: Path, axes: Any) -> None:
    """Draw into a draft first: a reader never sees half a picture."""
    with _atomic.replacing(path) as draft:
        axes.figure.savefig(draft, dpi=150, format=path.suffix.lower().removeprefix("."))


def say(report: str) -> None:
    """Print a report, in colour where there is a terminal."""
    from shesha.report import coloured, in_colour

    colour = in_colour()
    typer.echo(coloured(report) if colour else report, color=colour)


def emit(report: str, content: dict[str, Any], json: Path | None) -> None:
    """Print the report, and write or print all numbers if asked for."""
    if json is None or str(json) != "-":
        say(report)
    if json is None:
        return
    write(json, as_json(content) + "\n")


Html = Annotated[
    Path | None,
    typer.Option("--html", help="Write a page that answers first and shows every number, in one file to pass on."),
]
"""The option by which commands write a page."""


def save_page(path: Path | None, page: Callable[[Mapping[str, str]], Page], files: Sequence[Path]) -> None:
    """Write a page with the command and what its files held, if one was asked for.

    `page` takes what else to tell of what was run; it is asked for nothing where no page is.
    """
    if path is None:
        return
    from shesha.report import as_html

    write(path, as_html(page(what_was_run(files))))


Card = Annotated[
    Path | None,
    typer.Option("--card", help="Write Markdown with a head of numbers, for the card of a model on a hub."),
]
"""The option by which commands write a card."""


def save_card(path: Path | None, card: Callable[..., str], files: Sequence[Path], data: str, model: str = "") -> None:
    """Write a card, if one was asked for and there is a number for it; if not, say so.

    `card` takes the name of the data, that of the model, and what else to tell of what was run.
    """
    if path is None:
        return
    try:
        text = card(data=data, model=model, about=what_was_run(files))
    except ValueError as error:
        typer.echo(f"shesha: no card: {error}", err=True)
        return
    write(path, text)


def named(files: Sequence[Path], model: object) -> str:
    """Name the data of a card: the files, or the model that made them."""
    return ", ".join(path.name for path in files) or str(model)


def what_was_run(files: Sequence[Path]) -> dict[str, str]:
    """Return the command and a fingerprint of each file, so that whoever has them can tell."""
    told = {"command": shlex.join(["shesha", *sys.argv[1:]])}
    return told | {f"file {path}": fingerprint(path) for path in files if path.exists()}


def fingerprint(path: Path) -> str:
    """Return how large a file is and the SHA-256 of what it holds; of a folder, of the names and hashes in it."""
    if path.is_dir():
        inside = sorted(one for one in path.rglob("*") if one.is_file())
        lines = [f"{one.relative_to(path).as_posix()} {fingerprint(one)}" for one in inside]
        listed = hashlib.sha256("\n".join(lines).encode()).hexdigest()
        return f"{len(inside):,} files, SHA-256 {listed} of their names and hashes"
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return f"{path.stat().st_size:,} bytes, SHA-256 {digest}"


def require_page(path: Path | None) -> None:
    """Refuse, before the long work, a page that cannot be written or made."""
    require_writable(path)
    if path is not None:
        require("jinja2", "report", "--html needs Jinja2")


def write(path: Path, text: str) -> None:
    """Write a whole file; - is standard output."""
    if str(path) == "-":
        typer.echo(text, nl=False)
        return
    _atomic.write_text(path, text)
