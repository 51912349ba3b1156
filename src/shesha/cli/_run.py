"""What the values of a command's options stand for: inputs, rows, design, arguments of functions, outputs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shesha.cli._file_inputs import (
    EVERY_ROW,
    RowOptions,
    are_stacked_first,
    first_file,
    in_natural_order,
    load_labels,
    parse_layer_axis,
    parse_pairs,
    read_each,
    read_representations,
    require_same_texts,
)
from shesha.cli._model_inputs import FromModels
from shesha.cli._options import OPTIONS, option_name
from shesha.cli._outputs import Outputs

if TYPE_CHECKING:
    from shesha.inputs import Names
    from shesha.nulls.permutations import Design

_OUTPUTS = ("json", "plot", "html", "card", "explore", "title", "full")
_READ = frozenset(("also", "again", "blocks", "covariates", "groups", "labels", "model", "store", "texts", "within"))
"""Options that name files, or may name them. Paths are files as well."""
_NOT_READ = frozenset((*_OUTPUTS, "out", "folder"))
_NO_COLUMN = "column must be "
"""Beginning of the error message about an unknown column."""


class Run:
    """The values of a command's options, by name, and what is read and written because of them.

    Options that exclude one another and outputs that cannot be written are refused at once, before any work.
    """

    def __init__(self, context: Any, values: dict[str, Any]) -> None:
        self.context, self.values = context, values
        inputs = [one for name, value in values.items() if _is_input(name, value) for one in _several(value)]
        self.outputs = Outputs(**{name: values.get(name) for name in _OUTPUTS}, inputs=inputs)
        self.row_options = RowOptions(
            values.get("id"),
            bool(values.get("by_position")),
            bool(values.get("shared_rows")),
            values.get("missing") or "refuse",
            bool(values.get("transpose")),
        )
        if (workers := values.get("workers")) is not None and workers < 1:
            raise ValueError(f"--workers must be at least 1, got {workers}")
        self.first = Path()
        """The file in which columns of labels are looked up."""

    def __getattr__(self, name: str) -> Any:
        """Return the value of an option; None if the command does not have it."""
        if name not in self.values and name not in OPTIONS:
            raise AttributeError(name)
        return self.values.get(name)

    @cached_property
    def exchanged(self) -> DesignLabels:
        """The design of permutations and the covariates."""
        named = {name: self.values[name] for name in ("blocks", "groups", "within") if self.values.get(name)}
        covariates = self.covariates or ()
        columns = (column for value in (*named.values(), *covariates) for column in column_of_first_file(value))
        design: Design = {"shift": bool(self.shift), "block_length": self.block_length}
        design.update({name: labels_named(name, value, self.first, self.row_options) for name, value in named.items()})  # type: ignore[typeddict-item]
        table = _table(covariates, self.first, self.row_options)
        return DesignLabels(design, tuple(dict.fromkeys(columns)), table)

    @cached_property
    def classes(self) -> Any:
        """The class labels, or None."""
        return labels_named("labels", self.labels, self.first, rows=self.row_options)

    @property
    def group_labels(self) -> Any:
        """The group of each row, or None."""
        return labels_named("groups", self.groups, self.first, self.row_options)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the first file that are labels, not features."""
        return (*self.exchanged.columns, *column_of_first_file(self.labels))

    @cached_property
    def models(self) -> FromModels | None:
        """The models and texts; None if representations are in files."""
        return FromModels.parse(self.model, self.files, self)

    @cached_property
    def sources(self) -> list[Path]:
        """The files that are read: those with representations, or the one with texts for the models."""
        files = [self.models.file] if self.models is not None else in_natural_order(self.files or ())
        self.first = first_file(files)
        return files

    def read(
        self, files: Sequence[Path], key: list[str] | None = None, n_rows: int | None = None, *, paired: bool = True
    ) -> dict[str, Any]:
        """Read all arrays of files, or those with the given keys; `n_rows` decides which axis a stack is along."""
        if paired and not self.by_position:
            require_same_texts(files)
        axis = self._axis
        if n_rows is not None and axis == "guess" and not self._rdm and are_stacked_first(files, key, n_rows):
            axis = "0"
        arrays = read_representations(list(files), key, self.columns, axis, rows=self.row_options, distances=self._rdm)
        if self.labels is not None and not self._rdm:
            self._refuse_labels_of_other_axes(arrays)
        return arrays

    def _refuse_labels_of_other_axes(self, arrays: Any) -> None:
        """Refuse labels that no array fits, but another axis of an array that was flattened or split into layers."""
        from shesha.inputs.matrix_shapes import refuse_other_axis

        n_labels = len(self.classes)
        if any(len(array) == n_labels for array in arrays.values()):
            return
        for contents in arrays.opened.values():
            refuse_other_axis(
                contents.flattened | {name: split.shape for name, split in contents.split.items()}, n_labels
            )

    def read_each(self, files: Sequence[Path], key: list[str] | None = None) -> list[dict[str, Any]]:
        """Read each file by itself."""
        if not self.by_position:
            require_same_texts(files)
        return read_each(files, key, self.columns, self._axis, rows=self.row_options, distances=self._rdm)

    def read_named(self, file: Path, key: str | None = None, inside: Sequence[str] = ()) -> tuple[Any, Names | None]:
        """Read the single matrix of a file, with the names of its columns if the file has them."""
        keys = None if key is None else [key]
        arrays = read_representations([file], keys, inside, self._axis, rows=self.row_options)
        if len(arrays) != 1:
            raise ValueError(f"{file.name} must have one matrix, got {', '.join(arrays)}: choose one with --key")
        return next(iter(arrays.values())), arrays.opened[file].column_names

    def lazy_files(self, files: Sequence[Path], **choices: Any) -> Any:
        """Return `Files`, from which each process reads what it needs."""
        from shesha.comparison.input_manifest import Files

        rows = self.row_options
        return Files(
            list(files),
            self.key,
            self._rdm,
            parse_layer_axis(self._axis),
            by_position=rows.by_position,
            ids=rows.ids,
            transpose=rows.transpose,
            flatten=True,
            **choices,
        )

    @property
    def _axis(self) -> str:
        return str(self.values.get("layer_axis", "none"))

    @property
    def _rdm(self) -> bool:
        return bool(self.rdm)

    def arguments(self, function: Callable[..., Any], *without: str) -> dict[str, Any]:
        """Return the arguments of a function for which the command has options."""
        read: dict[str, Callable[[], Any]] = {
            **{name: partial(self.exchanged.design.get, name) for name in ("blocks", "groups", "within")},
            "covariates": lambda: self.exchanged.covariates,
            "labels": lambda: self.classes,
            "pairs": lambda: parse_pairs(self.pairs) if isinstance(self.pairs, str) else self.pairs,
            "layer_axis": lambda: None,
            "shared_rows": lambda: "shared" if self.shared_rows else "same",
        }
        names = {name: option_name(name) for name in inspect.signature(function).parameters}
        return {
            argument: read[name]() if name in read else self.values[name]
            for argument, name in names.items()
            if name in self.values and name not in ("id", *without)
        }

    def paths(self, *others: Path) -> list[Path]:
        """Return files and the files of labels, whose fingerprints pages report."""
        named = (self.values.get(name) for name in ("labels", "blocks", "groups", "within"))
        return [*others, *(Path(name) for name in named if name is not None)]


def _is_input(name: str, value: Any) -> bool:
    """Return whether the value of an option is a file that is read, or may name one."""
    if value is None or name in _NOT_READ:
        return False
    return name in _READ or any(isinstance(one, Path) for one in _several(value))


def _several(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


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


def labels_named(option: str, value: str | None, first: Path, rows: RowOptions = EVERY_ROW) -> Any:
    """Read the labels that an option names, from a file or a column of the first file; None if not used."""
    return None if value is None else _read(option, value, first, rows)


def _table(covariates: Sequence[str], first: Path, rows: RowOptions) -> Any:
    """Combine the covariates into a table, with row names if one of the files has them."""
    if not covariates:
        return None
    from numpy import asarray
    from pandas import DataFrame, Index

    from shesha.inputs import NamedRows, align_labels, is_identity_name

    columns = {value: _read("covariates", value, first, rows) for value in covariates}
    counts = {value: len(column) for value, column in columns.items()}
    if len(set(counts.values())) > 1:
        raise ValueError(f"--covariates must all have the same number of rows, got {counts}")
    names = next((column.known for column in columns.values() if isinstance(column, NamedRows)), None)
    if names is None:
        return DataFrame(columns)
    ordered = {value: asarray(align_labels(names, column, value, "covariates")) for value, column in columns.items()}
    # Only a named index of numbers identifies rows.
    word = names.column if is_identity_name(names.column) else "id"
    return DataFrame(ordered, index=Index(names.values, name=word if names.certain else None))


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
    from shesha.inputs import NamedRows
    from shesha.io.read import check_label_order
    from shesha.support.provenance import ignore_statements, state

    path, column = split_source(value)
    try:
        labels = load_labels(first if path is None else path, column, rows)
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
    is_named = isinstance(labels, NamedRows)
    if path is None or path == first or rows.by_position or (is_named and labels.known.distinct):
        return labels
    with ignore_statements():
        check_label_order(first, path)
    if not is_named:
        state(f"{option} paired with the rows by position: {path.name} has no row names")
    return labels


def _is_path(text: str) -> bool:
    """Return whether a value that is neither a file nor a column was meant to be a file, unlike leiden_0.5."""
    from shesha.io.formats import is_readable

    return is_readable(Path(text)) or len(Path(text).parts) > 1
