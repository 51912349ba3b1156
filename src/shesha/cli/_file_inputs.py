"""Read representations and labels from the files that commands name."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from shesha.cli._outputs import echo
from shesha.support import wording
from shesha.support.provenance import collect_statements, ignore_statements, state, state_other_settings
from shesha.support.wording import natural_place

if TYPE_CHECKING:
    from shesha.io.array_selection import Contents
    from shesha.io.read import ReadArrays

FEWEST_COLUMNS = 4
"""Number of columns below which an array is left out beside wider ones; narrow ones are pictures, labels or scores."""


@dataclass(frozen=True)
class RowOptions:
    """The options on rows that all commands share: which rows of the files are the same, and which are used."""

    ids: str | None = None
    by_position: bool = False
    shared: bool = False
    missing: str = "refuse"
    transpose: bool = False

    def __post_init__(self) -> None:
        """Refuse options that exclude one another."""
        if self.by_position and (self.ids is not None or self.shared):
            other = "--id" if self.ids is not None else "--shared-rows"
            raise ValueError(f"--by-position must come without {other}, got both")
        if self.missing not in ("refuse", "drop"):
            raise ValueError(f"--missing must be refuse or drop, got {self.missing!r}")

    @property
    def choice(self) -> dict[str, Any]:
        """The arguments `rows` and `missing` of the library's functions."""
        return {"rows": "shared" if self.shared else "same", "missing": self.missing}

    def state_pairing(self, *files: Mapping[str, Any], opened: Mapping[Path, Contents] | None = None) -> None:
        """State that rows of several files are paired by position, unless a file names its rows.

        `opened` describes the contents of the files, unless `read_representations` read each of them in a call.
        """
        from shesha.inputs import are_reordered
        from shesha.io.read import check_column_orders

        if len(files) == 1:
            self._state_pairing_within(files[0], list(opened or ()))
        if len(files) < 2:
            return
        known = [
            getattr(array, "known", getattr(array, "names", None)) for arrays in files for array in arrays.values()
        ]
        if self.by_position:
            state("rows paired by position, as requested")
            return
        check_column_orders(opened or {path: it for side in files for path, it in getattr(side, "opened", {}).items()})
        counted = [names is None or getattr(names, "counts_rows", False) for names in known]
        if all(counted) or any(names is None for names in known):
            if all(names is None or not getattr(names, "column", "") for names in known):
                state(_NO_IDS)
            first, second = (next(iter(arrays.values()), ()) for arrays in files[:2])
            if _are_small(first, second) and are_reordered(first, second):
                raise ValueError(
                    "rows must be in one order if no column identifies them, got the same rows in another order. "
                    "Name the column of identifiers with --id, or pass --by-position to compare row i with row i"
                )

    def _state_pairing_within(self, arrays: Mapping[str, Any], paths: Sequence[Path]) -> None:
        """State that rows of several matrices of a file are paired by position, unless something shows that they agree.

        The columns of a table have the same rows, and so have the layers of one array and those of one extraction.
        """
        from shesha.io.formats import is_table
        from shesha.io.read import recorded_settings
        from shesha.views import Rdm

        sources = {name.partition("[")[0] for name in arrays}
        lengths = {array.n_rows if isinstance(array, Rdm) else len(array) for array in arrays.values()}
        if len(sources) < 2 or len(lengths) > 1 or not paths or is_table(paths[0]):
            return
        if self.by_position:
            state("rows paired by position, as requested")
        elif all(
            getattr(array, "known", getattr(array, "names", None)) is None for array in arrays.values()
        ) and not recorded_settings(paths[0]):
            state(_NO_IDS)


_NO_IDS = "rows paired by position (no ids)"
EVERY_ROW = RowOptions()
"""Rows are matched by name if both files have names, and no rows are left out."""
_READ_TWICE = 1 << 28
"""Number of bytes up to which matrices without ids are checked for the same rows in another order."""
_MOST_ARRAYS = 1_000
"""Maximum number of arrays; each is a representation, so a larger number is probably a mistake."""


def read_representations(
    files: list[Path],
    keys: list[str] | None,
    labels_inside: str | Sequence[str] | None = None,
    layer_axis: str = "guess",
    *,
    rows: RowOptions = EVERY_ROW,
    fewest: int = FEWEST_COLUMNS,
    distances: bool = False,
) -> ReadArrays:
    """Read every array of every file; if two files use the same name, add a short path.

    Arrays with fewer columns than `fewest`, and one-hot labels, are skipped, unless `keys` names them or their file
    contains nothing else. Feature maps and token sequences are flattened to matrices. If a file names its rows, its
    arrays keep these names, so that rows can be matched later.

    Three-dimensional arrays are split into layers here, so callers must pass ``layer_axis=None`` to later functions. If
    the layer axis had to be guessed, a message reports the guess.
    """
    repeated = [str(path) for path in dict.fromkeys(files) if files.count(path) > 1]
    if repeated:
        raise ValueError(f"FILE must not be repeated, got {', '.join(repeated)} more than once")
    opened = _open_files(files, keys, _reader(labels_inside, layer_axis, rows, distances))
    return _gather(opened, labels_inside, rows=rows, fewest=fewest, distances=distances)


def _gather(
    opened: Mapping[Path, tuple[Contents, list[str] | None]],
    labels_inside: str | Sequence[str] | None,
    *,
    rows: RowOptions,
    fewest: int,
    distances: bool,
) -> ReadArrays:
    """Return the arrays of opened files by distinct names, with the names of their rows."""
    from shesha.comparison.input_manifest import too_narrow
    from shesha.inputs import NamedRows
    from shesha.inputs.matrix_shapes import one_row_per_input, state_narrow
    from shesha.io.array_selection import full_name, refuse_parts, short_paths
    from shesha.io.read import ReadArrays, shared_token_counts, state_contents
    from shesha.support.wording import count
    from shesha.views import Rdm

    arrays: dict[str, Any] = {}
    of_files: list[dict[str, Any]] = []
    files = list(opened)
    inside = [labels_inside] if isinstance(labels_inside, str) else list(labels_inside or ())
    for path, short in zip(files, short_paths(files, endings=False), strict=True):
        contents, keys = opened[path]
        before = set(arrays)
        few = {} if distances else too_narrow(contents.representations, keys, fewest)
        state_contents(path, contents, inside, narrow=few, chosen=keys is not None, named=not rows.by_position)
        for name, array in contents.representations.items():
            if name in few:
                continue
            full = full_name(path, short, name, arrays, alone=len(files) == 1)
            if distances and len(array.shape) == 2 and array.shape[0] != array.shape[1]:
                state(f"{full}: {count(len(array), 'set')} of condensed distances, one per row")
                arrays |= {f"{full}[{k}]": one for k, one in enumerate(Rdm.stack(array, full))}
                continue
            array = array if distances else one_row_per_input(array, name)
            names = None if rows.by_position else contents.names_of(name)
            arrays[full] = array if names is None else NamedRows(array, names)
            if distances:
                arrays[full] = Rdm(arrays[full], full)
        of_files.append({name: array for name, array in arrays.items() if name not in before})
        for name, split in contents.split.items():
            if split.doubtful:
                echo(f"{path}: {name} is {split.describe('--layer-axis ')}", err=True)
    if any(keys is None for _, keys in opened.values()) and len(arrays) > _MOST_ARRAYS:
        raise ValueError(
            f"FILE must contain at most {_MOST_ARRAYS:,} arrays, got {len(arrays):,}: choose some with --key"
        )
    state_narrow({name: array.shape for name, array in arrays.items() if not distances})
    if len(files) > 1 and not distances and all(keys is None for _, keys in opened.values()):
        refuse_parts(f"the files of {files[0].parent}", arrays)
    rows.state_pairing(*of_files, opened={path: contents for path, (contents, _) in opened.items()})
    # Labels are not checked as confounders of themselves.
    found = {
        path: replace(contents, labels_available=tuple(n for n in contents.labels_available if n not in inside))
        for path, (contents, _) in opened.items()
    }
    return ReadArrays(arrays, shared_token_counts(files), found)


def read_each(
    files: Sequence[Path],
    keys: list[str] | None,
    labels_inside: str | Sequence[str] | None = None,
    layer_axis: str = "guess",
    *,
    rows: RowOptions = EVERY_ROW,
    distances: bool = False,
) -> list[dict[str, Any]]:
    """Read each file by itself, with those keys that it has, as `read_representations` does."""
    opened = _open_files(files, keys, _reader(labels_inside, layer_axis, rows, distances))
    return [
        _gather({path: opened[path]}, labels_inside, rows=rows, fewest=FEWEST_COLUMNS, distances=distances)
        for path in files
    ]


def _reader(
    labels_inside: str | Sequence[str] | None, layer_axis: str, rows: RowOptions, distances: bool
) -> Callable[..., Contents]:
    """Return a function that opens a file with given keys."""
    from shesha.io import open_file

    return partial(
        open_file,
        labels_column=labels_inside,
        layer_axis=parse_layer_axis(layer_axis),
        distances=distances,
        ids=rows.ids,
        transpose=rows.transpose,
    )


def _open_files(
    files: Sequence[Path], keys: list[str] | None, read: Callable[..., Contents]
) -> dict[Path, tuple[Contents, list[str] | None]]:
    """Open each file with those keys that it has, and return it with these keys; each key must be in a file.

    A file that has none of the keys is read without keys if it then is one representation.
    """
    from shesha.io.array_selection import UnknownKeyError

    opened: dict[Path, tuple[Contents, list[str] | None]] = {}
    unknown: dict[str, UnknownKeyError] = {}
    for path in files:
        try:
            opened[path] = read(path, keys=keys), keys
            continue
        except UnknownKeyError:
            if keys is None or len(files) < 2:
                raise
        own = []
        for key in keys:
            try:
                with ignore_statements():
                    read(path, keys=[key])
                own.append(key)
            except UnknownKeyError as error:
                unknown[key] = error
        opened[path] = read(path, keys=own or None), own or None
        if not own and len(opened[path][0].representations) != 1:
            raise unknown[keys[0]]
    missing = [key for key in keys or () if not any(own and key in own for _, own in opened.values())]
    if missing:
        raise unknown[missing[0]]
    return opened


def are_stacked_first(files: Sequence[Path], keys: list[str] | None, n_rows: int) -> bool:
    """Return whether 3-D arrays have the expected number of rows along their second axis only."""
    from shesha.io import open_file

    with ignore_statements():
        opened = [open_file(path, keys=keys) for path in files]
    shapes = [split.shape for contents in opened for split in contents.split.values() if split.guessed]
    return bool(shapes) and all(shape[0] != n_rows == shape[1] for shape in shapes)


def require_same_texts(files: Sequence[Path]) -> None:
    """Refuse files that were extracted from other texts, or in another order; state settings that differ."""
    from shesha.io.read import recorded_settings

    records = {path: record for path in files if (record := recorded_settings(path))}
    known = {path: record["texts"] for path, record in records.items() if record.get("texts")}
    for path, texts in known.items():
        if texts != (first := next(iter(known.values()))):
            name = next(one.name for one, other in known.items() if other == first)
            raise ValueError(
                f"{path.name} must contain the texts of {name} in the same order, got others, as both files record; "
                "extract both from one file of texts, or pass --by-position"
            )
    if len(records) > 1:
        state_other_settings({path.name: record for path, record in records.items()})


def _are_small(*arrays: Any) -> bool:
    """Return whether arrays are matrices of features that are quickly read."""
    return all(
        len(getattr(array, "shape", ())) == 2 and hasattr(array, "dtype") and 8 * prod(array.shape) <= _READ_TWICE
        for array in arrays
    )


_OF_LABELS = re.compile(r"heading|labelled|one-hot labels")
"""Words of statements on labels."""


def load_labels(path: Path, column: str | None, rows: RowOptions = EVERY_ROW) -> Any:
    """Read labels, with row names if the file has them, unless rows are to be matched by position."""
    from shesha.io import read_labels
    from shesha.io.read import read_named_labels

    with ignore_statements(), collect_statements() as statements:
        labels: Any
        if rows.by_position:
            labels = read_labels(path, column)
        else:
            try:
                labels = read_named_labels(path, column, ids=rows.ids)
            except ValueError as error:
                if rows.ids is None or not str(error).startswith("ids must be"):
                    raise
                # A file with labels only may have other names of rows, or none.
                labels = read_named_labels(path, column)
    # Statements on the matrices of the file would be wrong here, because only its labels are read.
    for statement in statements:
        if _OF_LABELS.search(statement):
            state(statement)
    return labels


def hold_directories(files: Sequence[Path]) -> bool:
    """Return whether one of the paths is a directory of files."""
    from shesha.comparison.input_manifest import is_folder

    return any(map(is_folder, files))


def in_natural_order(files: Sequence[Path]) -> list[Path]:
    """Return files in natural order, with layer_2 before layer_10, if they are sorted as text, as shells sort them."""
    from shesha.io.array_selection import short_paths

    natural = wording.in_natural_order(files, natural_place)
    if natural != list(files):
        first, *_, last = short_paths(natural)
        state(f"files in the order of their numbers: {first} to {last}")
    return natural


def first_file(files: Sequence[Path]) -> Path:
    """Return the file in which label columns are looked up: the first one, also inside a directory."""
    from shesha.comparison.input_manifest import is_folder, list_files
    from shesha.io.formats import is_readable

    if not is_folder(files[0]):
        return files[0]
    inside = [path for path in list_files(files[0]) if is_readable(path)]
    return inside[0] if inside else files[0]


def parse_pairs(pairs: str | None) -> int | Literal["all"] | None:
    """Parse the value of --pairs: a number or 'all'."""
    if pairs is None or pairs == "all":
        return "all" if pairs else None
    if not pairs.isdecimal():
        raise ValueError(f"--pairs must be a number or all, got {pairs!r}")
    return int(pairs)


def parse_layer_axis(text: str) -> int | Literal["guess"] | None:
    """Parse the value of --layer-axis."""
    if text not in ("0", "1", "2", "none", "guess"):
        raise ValueError(f"--layer-axis must be 0, 1, 2 or none, got {text!r}")
    return "guess" if text == "guess" else None if text == "none" else int(text)
