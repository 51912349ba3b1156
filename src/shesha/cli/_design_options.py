"""The design options (`--groups`, `--blocks`, ...) that all commands that permute rows share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shesha.cli._file_inputs import EVERY_ROW, RowOptions, load_labels

if TYPE_CHECKING:
    from shesha.nulls.permutations import Design


Workers = Annotated[int | None, typer.Option(help="Number of local processes; default: one per core.")]
WorkersOfSeveral = Annotated[
    int | None,
    typer.Option(help="Number of local processes that share the work; default: 1, with several threads."),
]
Scheduler = Annotated[str | None, typer.Option(help="Address of a Dask scheduler to use instead of local processes.")]


def require_workers(workers: int | None) -> None:
    """Refuse fewer than one process."""
    if workers is not None and workers < 1:
        raise ValueError(f"--workers must be at least 1, got {workers}")


_NO_COLUMN = "column must be "
"""Beginning of the error message about an unknown column."""
_WHERE = "FILE (or FILE:COLUMN) with one label per row, or COLUMN of the first FILE"

Blocks = Annotated[
    str | None,
    typer.Option(
        metavar="FILE|COLUMN", help=f"Permute or resample rows only within blocks (sessions, batches): {_WHERE}."
    ),
]
Groups = Annotated[
    str | None,
    typer.Option(metavar="FILE|COLUMN", help=f"Permute or resample whole groups of rows (subjects, donors): {_WHERE}."),
]
Within = Annotated[
    str | None,
    typer.Option(
        metavar="FILE|COLUMN", help=f"Permute rows only within strata of a covariate (sequencing depth): {_WHERE}."
    ),
]
Shift = Annotated[bool, typer.Option("--shift", help="Rows are a time series: permute them by circular shifts.")]
BlockLength = Annotated[
    int | None, typer.Option(help="Rows are a time series: permute segments of this many consecutive rows.")
]

Labels = Annotated[
    str | None,
    typer.Option(metavar="FILE|COLUMN", help=f"Class labels (cell types): {_WHERE}."),
]

Covariates = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FILE|COLUMN",
        help="Control for a covariate on which both representations depend, such as batch or depth (may be repeated): "
        "FILE (or FILE:COLUMN) with one value per row, or COLUMN of the first FILE.",
    ),
]


@dataclass(frozen=True)
class DesignLabels:
    """The labels that the options name; columns of the first file among them are not features."""

    design: Design
    columns: tuple[str, ...]
    """Columns of the first file that contain labels, not features."""
    covariates: Any = None
    """A table with one column per covariate, or None."""

    @property
    def is_empty(self) -> bool:
        """Whether all rows are exchangeable and there are no covariates."""
        return self.covariates is None and all(value is None or value is False for value in self.design.values())


def read_design(
    files: Sequence[Path],
    blocks: str | None,
    groups: str | None,
    within: str | None,
    shift: bool,
    block_length: int | None,
    covariates: Sequence[str] = (),
    rows: RowOptions = EVERY_ROW,
) -> DesignLabels:
    """Read the labels that the options name.

    Parameters
    ----------
    files : sequence of paths
        Files that the command reads. Columns without a file name are in the first one.
    blocks, groups, within, shift, block_length, covariates
        The values of the options, as typed.
    rows : RowOptions
        How labels are matched with rows.
    """
    named = {"blocks": blocks, "groups": groups, "within": within}
    every = [*(value for value in named.values() if value is not None), *covariates]
    columns = tuple(dict.fromkeys(column for value in every for column in column_of_first_file(value)))
    labels = {name: _read(name, value, files[0], rows) for name, value in named.items() if value is not None}
    design: Design = {"shift": shift, "block_length": block_length}
    design.update(labels)  # type: ignore[typeddict-item]
    return DesignLabels(design, columns, _table(covariates, files[0], rows))


def labels_named(option: str, value: str | None, first: Path, rows: RowOptions = EVERY_ROW) -> Any:
    """Read the labels that an option names, from a file or a column of the first file; None if not used."""
    return None if value is None else _read(option, value, first, rows)


def _table(covariates: Sequence[str], first: Path, rows: RowOptions) -> Any:
    """Combine the covariates into a table, with row names if one of the files has them."""
    if not covariates:
        return None
    from numpy import asarray
    from pandas import DataFrame

    from shesha.inputs import NamedRows, align_labels

    columns = {value: _read("covariates", value, first, rows) for value in covariates}
    counts = {value: len(column) for value, column in columns.items()}
    if len(set(counts.values())) > 1:
        raise ValueError(f"--covariates must all have the same number of rows, got {counts}")
    names = next((column.known for column in columns.values() if isinstance(column, NamedRows)), None)
    if names is None:
        return DataFrame(columns)
    ordered = {value: asarray(align_labels(names, column, value, "covariates")) for value, column in columns.items()}
    return DataFrame(ordered, index=names.values)


def split_source(value: str) -> tuple[Path | None, str | None]:
    """Return file and column of FILE, FILE:COLUMN or COLUMN; no file means the first file of the command."""
    if Path(value).exists():
        return Path(value), None
    file, colon, column = value.rpartition(":")
    if colon and Path(file).is_file():
        return Path(file), column
    return None, value


def column_of_first_file(value: str | None) -> tuple[str, ...]:
    """Return, as a tuple, the column of the first file that an option names, if it does."""
    return (value,) if value is not None and split_source(value)[0] is None else ()


def _read(option: str, value: str, first: Path, rows: RowOptions) -> Any:
    path, column = split_source(value)
    try:
        return load_labels(first if path is None else path, column, rows)
    except (ValueError, OSError) as error:
        if path is not None and column is None:
            raise
        reason = str(error)
        if path is None and _is_path(value):
            raise FileNotFoundError(f"--{option} must be an existing file, got {value}") from error
        if reason.startswith(_NO_COLUMN):
            reason = f"--{option} must be a file, or a column {reason.removeprefix(_NO_COLUMN)}"
        else:
            place = first if path is None else path
            reason = f"--{option} must be a file, or a column of {place}, got {value!r}: {reason}"
        raise ValueError(reason) from error


def _is_path(text: str) -> bool:
    """Return whether a value that is neither a file nor a column was meant to be a file, unlike leiden_0.5."""
    from shesha.io.formats import is_readable

    return is_readable(Path(text)) or len(Path(text).parts) > 1
