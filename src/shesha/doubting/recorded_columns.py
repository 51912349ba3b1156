"""What is recorded with the rows, and which of it could explain their geometry or their classes."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from itertools import islice
from typing import Any

import numpy as np

from shesha.doubting.doubt_input import Subject, power_of_two
from shesha.doubting.row_doubts import association, known_column
from shesha.doubting.separate_blocks import separate_blocks
from shesha.inputs import validation as check
from shesha.inputs.column_words import CLASS, CLUSTERS, DEPTH, LABELS, LENGTH, MODEL, OBJECT_COUNT, WELL
from shesha.kernels.neighbours import nearest_by_distance
from shesha.results import Doubt
from shesha.support.provenance import ignore_statements, state, state_warning
from shesha.support.sampling_units import is_batch_name, is_unit_name, unit_labels
from shesha.support.types import Array, Index, Labels, Mask, Vector
from shesha.support.wording import join_items
from shesha.views import Rdm, Rows

NAME = "number of tokens"
Columns = Sequence[tuple[str, Callable[[str], Any]]]
"""Names of columns that describe the rows, each with the function that reads it."""


def text_lengths(representations: Any) -> dict[str, Vector]:
    """Return the number of tokens of each row as a covariate; empty if it is unknown or constant.

    Length alone can separate texts, because the mean-pooled rows of longer texts lie closer to a common direction.
    `Activations` and the files that an extraction writes record the numbers of tokens.

    Examples
    --------
    >>> text_lengths({"layer": np.zeros((3, 2))})
    {}
    """
    counts = getattr(representations, "n_tokens", None)
    if counts is None and (paths := _paths(representations)):
        from shesha.io.read import shared_token_counts

        counts = shared_token_counts(paths)
    return {} if counts is None or len(set(counts)) < 2 else {NAME: np.array(counts, dtype=np.float64)}


def row_properties(representations: Any, columns: Columns | None = None) -> dict[str, Vector | Labels]:
    """Return what comes with the rows and could explain their geometry: lengths, depth, counts, batches, wells, models.

    Columns are recognised by their names, in the obs of AnnData and in a single file that a command has opened.

    Examples
    --------
    >>> import pandas as pd
    >>> class Cells:
    ...     obs = pd.DataFrame({"batch": ["a", "b", "a", "b"], "total_counts": [9.0, 5, 7, 8], "kind": list("xyxy")})
    >>> {name: values.tolist() for name, values in row_properties(Cells()).items()}
    {'batch': [0, 1, 0, 1], 'total_counts': [9.0, 5.0, 7.0, 8.0]}
    """
    properties: dict[str, Vector | Labels] = {**text_lengths(representations)}
    for name, read in find_recorded_columns(representations) if columns is None else columns:
        is_total = any(words.fit(name) for words in _TOTALS)
        if is_total or _names_a_source(name):
            values = np.asarray(read(name))
            quantity = _as_numbers(values) if is_total else _as_labels(values, name)
            if quantity is not None:
                properties[name] = quantity
    return properties


_TOTALS = (DEPTH, LENGTH, OBJECT_COUNT)


def _names_a_source(name: str) -> bool:
    """Return whether a column is named like batches, models or wells."""
    return is_batch_name(name) or MODEL.fit(name) or WELL.fit(name)


def _names_classes(name: str) -> bool:
    """Return whether a column is named like classes or clusters, which embeddings are meant to show."""
    return CLASS.fit(name) or CLUSTERS.fit(name) or name.lower() in LABELS


def _as_numbers(values: Any) -> Vector | None:
    """Return values as numbers, if all are finite and they differ."""
    if values.dtype.kind not in "fiu" or not np.isfinite(values).all() or np.ptp(values) <= 0:
        return None
    return np.asarray(values, dtype=np.float64)


def _as_labels(values: Any, name: str) -> Labels | None:
    """Return values as codes of labels, if many rows share each of them and none is missing."""
    units = unit_labels(values)
    return None if units is None or None in set(units.tolist()) else check.labels(units, len(units), name)[0]


_MOST_COLUMNS, _READ_TWICE = 40, 1 << 26
"""Largest number of further columns, and bytes of a file, that are read to look for what explains the rows."""
_MOST_LEVELS = 12
"""Number of values above which numbers are quantities and not codes."""


def other_columns(
    representations: Any, used: Iterable[Any] = (), columns: Columns | None = None
) -> dict[str, Vector | Labels]:
    """Return the other columns that come with the rows, whatever their names, but for classes and clusters.

    Nobody can list the names of all that may differ between rows, such as cameras, operators or hospitals. Columns with
    the values of `used` arrays, and those whose values are all distinct, are left out.

    Examples
    --------
    >>> import pandas as pd
    >>> class Cells:
    ...     obs = pd.DataFrame({"operator": ["a", "b", "a", "b"], "leiden": ["0", "0", "1", "1"], "name": list("wxyz")})
    >>> {name: values.tolist() for name, values in other_columns(Cells()).items()}
    {'operator': [0, 1, 0, 1]}
    """
    known = []
    for values in used:
        # Lists of lists are refused where they are used.
        with suppress(ValueError):
            known.append(np.asarray(values, dtype=str))
    others: dict[str, Vector | Labels] = {}
    for name, values in _values_of_columns(representations, columns):
        if _names_classes(name) or _names_a_source(name) or any(words.fit(name) for words in _TOTALS):
            continue
        if any(np.array_equal(values.astype(str), each) for each in known):
            continue
        if (folders := _folders(values)) is not None and not any(np.array_equal(folders, each) for each in known):
            name, values = f"folder of {name}", folders
        for labels in known:
            _warn_of_written_labels(name, values, labels)
        is_quantity = values.dtype.kind in "fiu" and len(np.unique(values)) > _MOST_LEVELS
        quantity = _as_numbers(values) if is_quantity else _as_labels(values, name)
        if quantity is not None:
            others[name] = quantity
    return others


_PATHS, _OWN, _OF_OTHERS = 0.9, 0.95, 0.6
"""Share of values with a separator of folders, share of texts with the own label, and with that of another row."""


def _folders(values: Any) -> Array | None:
    """Return the last folder of each path; None for other values."""
    if values.dtype.kind not in "OU" or not len(values):
        return None
    parts = [re.split(r"[/\\]", str(value)) for value in values.tolist()]
    if np.mean([len(part) > 1 for part in parts]) < _PATHS or len({part[-1] for part in parts}) * 2 < len(parts):
        return None
    return np.array([part[-2] if len(part) > 1 else "" for part in parts])


def _warn_of_written_labels(name: str, texts: Any, labels: Any) -> None:
    """Warn if texts contain the label of their row, from which an encoder reads it."""
    n = len(texts)
    if texts.dtype.kind not in "OU" or labels.shape != (n,) or not 1 < len(set(labels.tolist())) <= n / 2:
        return
    rows = np.arange(0, n, max(1, n // _ROWS))
    lines = [str(texts[row]).lower() for row in rows]
    if np.mean([" " in line for line in lines]) < _PATHS:
        return

    def share(order: Index) -> float:
        return float(np.mean([str(labels[row]).lower() in line for row, line in zip(order, lines, strict=True)]))

    others = np.random.default_rng(0).permutation(rows)
    if share(rows) >= _OWN and share(others) <= _OF_OTHERS and min(map(len, set(labels.tolist()))) > 1:
        state_warning(
            f"{name} contains the label of its row (such as {labels[0]}), so that scores with labels are those of the "
            "written label, if this text was encoded. Encode it without the label"
        )


def _values_of_columns(representations: Any, columns: Columns | None = None) -> Iterator[tuple[str, Any]]:
    """Yield the names and values of columns that come with the rows, if reading them costs little."""
    paths = getattr(representations, "opened", {})
    if any(path.is_dir() or path.stat().st_size > _READ_TWICE for path in paths):
        return
    for name, read in islice(find_recorded_columns(representations) if columns is None else columns, _MOST_COLUMNS):
        values = None
        with suppress(ValueError, TypeError, OSError), ignore_statements():
            values = np.asarray(read(name))
            # Vectors and records describe no row.
            if values.ndim != 1 or any(np.ndim(value) or isinstance(value, Mapping) for value in values.tolist()):
                values = None
        if values is not None:
            yield name, values


_TOGETHER, _LEVEL = 0.5, 1e-4
"""Smallest association of a column with the classes that is stated, and largest p-value for all columns."""
_MOST_STATED, _FEWEST = 3, 12
"""Largest number of columns that are stated, and fewest rows."""


def state_columns_of_classes(columns: Mapping[str, Vector | Labels], classes: Labels) -> None:
    """State which columns go together with the classes: scores for the classes could be scores for them."""
    found = []
    for name, quantity in columns.items():
        strength, p_value = association(classes, quantity)
        if strength >= _TOGETHER and p_value * len(columns) <= _LEVEL:
            found.append((strength, name))
    found.sort(key=lambda each: -each[0])
    if found:
        named = join_items(f"{name} (association {strength:.2f})" for strength, name in found[:_MOST_STATED])
        column, they = ("column", "it is") if len(found) == 1 else ("columns", "they are")
        state(
            f"classes go together with the recorded {column} {named}, so scores for classes are scores for the "
            f"{column} as well, unless {they} passed as blocks="
        )


def state_units_of_classes(columns: Mapping[str, Vector | Labels], classes: Labels) -> None:
    """State a column that numbers stretches of rows of one class each, as trials of several samples are numbered."""
    for name, values in columns.items():
        if values.dtype.kind != "f" or len(values) != len(classes):
            continue
        starts = np.flatnonzero(np.append(True, values[1:] != values[:-1]))
        sizes = np.diff(np.append(starts, len(values)))
        is_numbered = (np.diff(values[starts]) > 0).all() and np.median(sizes) >= _ROWS_PER_UNIT
        have_one_class = np.array_equal(np.repeat(classes[starts], sizes), classes)
        if is_numbered and have_one_class and 2 * len(np.unique(classes)) <= len(starts):
            state_warning(
                f"each of {len(starts):,} values of {name} has one class and about {np.median(sizes):.0f} rows in a "
                f"row; if these are samples of one trial or recording, pass groups={name!r} (--groups {name})"
            )
            return


_ROWS_PER_UNIT = 3
"""Smallest typical number of rows of a trial or recording."""


def state_known_columns(representations: Any, arrays: Mapping[str, Any]) -> None:
    """State which columns of arrays are mostly a property of their rows, such as depth, and which fit one array only.

    Without a null distribution that accounts for it, a component of depth that two sides share makes them similar.
    """
    columns = find_recorded_columns(representations)
    known, others = row_properties(representations, columns), other_columns(representations, columns=columns)
    for name, array in arrays.items():
        if doubt := _main_column(known, array, name):
            state_warning(f"{doubt.text}. {doubt.advice}")
        elif doubt := _main_column(others, array, name):
            state(doubt.text)
    if len(arrays) > 1:
        values = _values_of_columns(representations, columns)
        labels = {name: codes for name, column in values if (codes := _as_labels(column, name)) is not None}
        warn_of_shuffled_rows(labels, arrays)


_NEIGHBOURS, _ROWS, _N_DRAWS = 5, 256, 19
_SHARED, _CHANCE = 0.5, 0.1
"""Smallest share of neighbours with the same label, beyond chance, in an array that a column fits, and largest in one
that it does not fit. Clusters of shuffled rows share some labels by chance.
"""


def warn_of_shuffled_rows(labels: Mapping[str, Labels], arrays: Mapping[str, Any], option: str = "") -> None:
    """Warn of an array that may have its rows in another order than the others.

    Neighbours in another array share a label, but neighbours in this one neither share the label nor are neighbours in
    the other array. `option` passes the labels of an array of its own, if there is one.
    """
    sides = {name: X for name, X in arrays.items() if _is_matrix(X) and len(X) >= 2 * _FEWEST}
    lengths = {len(X) for X in sides.values()}
    if not labels or len(sides) < 2 or len(lengths) > 1:
        return
    (n,) = lengths
    rng = np.random.default_rng(0)
    rows = np.sort(rng.choice(n, min(n, _ROWS), replace=False))
    orders = [np.arange(len(rows)), *(rng.permutation(len(rows)) for _ in range(_N_DRAWS))]
    near = {name: pairs for name, X in sides.items() if (pairs := _neighbours(X, name, rows)) is not None}
    for column, codes in labels.items():
        if len(codes) != n:
            continue
        same = codes[rows, None] == codes[rows]
        fits = {name: _share(pairs, same, orders) for name, pairs in near.items()}
        fitting = [name for name, share in fits.items() if share >= _SHARED]
        others = [name for name, share in fits.items() if share <= _CHANCE] if fitting else []
        for name in others:
            if max(_share(near[name], near[one], orders) for one in fitting) > _CHANCE:
                continue
            first = fitting[0]
            state_warning(
                f"nearest neighbours in {first} share {column} ({100 * fits[first]:.0f} % beyond chance), but those of "
                f"{name} do not ({100 * fits[name]:.0f} %), and the two have no neighbours in common, as if the rows "
                f"of {name} were in another order. "
                + (f"Pass its own as {option}" if option else "Check that row i is the same input in both"),
                questions_input=True,
            )
            return


def _neighbours(X: Any, name: str, rows: Index) -> Mask | None:
    """Return which of some rows are neighbours, (rows, rows); None if the values are not finite."""
    sample = (X if isinstance(X, Rows) else Rows(X, name)).read(rows)
    if not np.isfinite(sample).all():
        return None
    sample /= power_of_two(float(np.abs(sample).max()) or 1.0)
    near = np.zeros((len(rows), len(rows)), dtype=bool)
    near[np.arange(len(rows))[:, None], nearest_by_distance(sample, _NEIGHBOURS).lists] = True
    return near


def _share(near: Mask, others: Mask, orders: Sequence[Index]) -> float:
    """Return which share of neighbours are also pairs of another kind: 0 by chance, 1 for all."""
    i, j = np.nonzero(near)
    rate, *by_chance = (float(others[order[i], order[j]].mean()) for order in orders)
    chance = float(np.mean(by_chance))
    return (rate - chance) / max(1 - chance, 1e-9)


def state_main_column(columns: Mapping[str, Vector | Labels], arrays: Mapping[str, Any]) -> None:
    """State which column determines most of an array, for the array in which it determines most."""
    doubts = [doubt for name, array in arrays.items() if (doubt := _main_column(columns, array, name))]
    if doubts:
        state(max(doubts, key=lambda doubt: doubt.effect).text)


def state_separate_blocks(columns: Mapping[str, Vector | Labels], arrays: Mapping[str, Any], classes: Labels) -> None:
    """State in which array rows of one class lie apart for each donor or sample, which are no known batches."""
    units = {name: codes for name, codes in columns.items() if is_unit_name(name) and len(codes) == len(classes)}
    for name, array in arrays.items() if units else ():
        if not _is_matrix(array) or len(array) != len(classes):
            continue
        subject = Subject((array if isinstance(array, Rows) else Rows(array, name),), "euclidean", classes, known=units)
        if np.isfinite(subject.sample).all() and (doubt := separate_blocks(subject)) is not None:
            state_warning(f"{doubt.text}. {doubt.advice}")
            return


def _is_matrix(array: Any) -> bool:
    """Return whether an array contains features, neither distances nor feature maps."""
    return not isinstance(array, Rdm) and len(getattr(array, "shape", ())) == 2


def _main_column(columns: Mapping[str, Vector | Labels], array: Any, name: str) -> Doubt | None:
    """Return a doubt about a column that determines a feature or the first principal component of an array."""
    here = {key: values for key, values in columns.items() if len(values) == len(array)}
    if not here or not _is_matrix(array) or len(array) < _FEWEST:
        return None
    rows = array if isinstance(array, Rows) else Rows(array, name)
    subject = Subject((rows,), "euclidean", known=here, names=(name,))
    return known_column(subject) if np.isfinite(subject.sample).all() else None


def find_recorded_columns(representations: Any) -> Columns:
    """Return the names of the columns that describe the rows, each with the function that reads it, at most once."""
    return [(name, cache(read)) for name, read in _readers(representations)]


def _readers(representations: Any) -> Iterator[tuple[str, Callable[[str], Any]]]:
    """Yield the names of the columns in `obs`, or in a single file that a command has opened, and their readers."""
    obs = getattr(representations, "obs", None)
    if obs is not None and hasattr(obs, "columns"):
        yield from ((str(name), obs.__getitem__) for name in obs.columns)
    opened = getattr(representations, "opened", {})
    if len(opened) == 1:
        from shesha.io.read import label_reader

        ((path, contents),) = opened.items()
        read = label_reader(path)
        yield from ((name, read) for name in contents.labels_available)


def _paths(representations: Any) -> list[Any]:
    """Return the paths in an input that is a path, several paths, a mapping of paths, or `Files`."""
    paths = getattr(representations, "paths", representations)
    if isinstance(paths, Mapping):
        paths = list(paths.values())
    inputs = paths if isinstance(paths, list | tuple) else [paths]
    return [path for path in inputs if isinstance(path, str | os.PathLike)]
