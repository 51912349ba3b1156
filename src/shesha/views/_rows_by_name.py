"""Which rows of representations are used, and in which order: by name, shared by all, without missing ones."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from shesha.inputs import (
    MissingRows,
    NamedRows,
    Names,
    RowChoice,
    align_labels,
    find_row_order,
    orders,
    split_names,
    validation as check,
)
from shesha.inputs.class_labels import lacks_label, state_suspicious_classes
from shesha.inputs.column_words import PICTURE_COLUMNS, is_picture_name
from shesha.inputs.identity import describe_transposed, words_of
from shesha.inputs.table_columns import column_names
from shesha.kernels.distances import Metric, find_undirected_rows
from shesha.nulls.dependence import resemblance_by_name
from shesha.support import memory
from shesha.support.device_arrays import array_shape, take_rows as take_array_rows, to_host
from shesha.support.provenance import ignore_statements, state, state_warning
from shesha.support.seeds import spawn
from shesha.support.types import Index, Seed, is_array, shape_of
from shesha.support.warnings import CalibrationWarning, RowNamesWarning, warn
from shesha.support.wording import join_items, plural
from shesha.views.representation import Rdm, Representation, Rows, warn_of_unknown_distances

S = TypeVar("S", Representation, Rows, Rows | Rdm)
ROWS: tuple[RowChoice, ...] = ("same", "shared")
MISSING: tuple[MissingRows, ...] = ("refuse", "drop")
_LABELS = {"y": "label", "labels": "label", "blocks": "block", "groups": "group", "within": "stratum"}
"""Arguments that contain a label of each row, and what the label is called."""
_ROW_ARGUMENTS = {**_LABELS, "covariates": "covariate"}
"""Arguments whose missing values leave rows out, and what a value is called."""
_READ_TWICE = 1 << 30
"""Number of bytes up to which values are searched for NaN here; larger ones are checked where they are used."""
_FEWEST_SAMPLED, _SAMPLING = 600, 41
"""Number of random rows that are used even if they exceed the memory, and key of their random stream."""
_ENTRIES = 1 << 20
"""Number of entries that are searched for NaN at a time."""


def align_rows(sources: Mapping[str, S]) -> dict[str, S]:
    """Put rows in the order of the first representation with names; warn if rows were reordered.

    Raises
    ------
    ValueError
        If the representations contain different names, not only a different order.
    """
    moved = orders({name: source.names for name, source in sources.items()})
    return {name: source.take_rows(moved[name]) if name in moved else source for name, source in sources.items()}


def layers_in_one_order(models: Mapping[str, dict[str, Representation]]) -> list[dict[str, Representation]]:
    """Return the layers of several models with rows in the order of the first layer that has names."""
    named = align_rows({f"{model}[{name}]": X for model, layers in models.items() for name, X in layers.items()})
    rows = iter(named.values())
    return [{name: next(rows) for name in layers} for layers in models.values()]


class Selectable(Protocol):
    """A representation, in memory or in a file, from which rows can be taken."""

    @property
    def names(self) -> Names | None:
        """Names of the rows."""
        ...

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        ...

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the values."""
        ...

    def take_rows(self, chosen: Index) -> Self:
        """Return some of the rows."""
        ...

    def take_columns(self, chosen: Index) -> Self:
        """Return some of the columns of a matrix."""
        ...

    def blocks(self) -> Iterator[tuple[int, NDArray[Any]]]:
        """Yield the values in blocks of rows, each with its first row number; nothing for distances."""
        ...


T = TypeVar("T", bound=Selectable)


def select_rows(
    representations: Mapping[str, Any],
    along: Mapping[str, Any] | None = None,
    *,
    rows: RowChoice = "same",
    missing: MissingRows = "refuse",
    metric: Metric = "cosine",
    directed: bool = False,
    align: bool = False,
    need: Callable[[list[tuple[int, int]]], float] | None = None,
    most: int = 5_000,
    seed: Seed = 0,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Restrict representations, and what belongs to their rows, to the rows that are used.

    Public functions call this once, before other checks. What is left out is counted and stated.

    Parameters
    ----------
    representations : mapping of str to array, table, Rdm, Representation or Rows
        The representations, by the names that messages use.
    along : mapping of str to any
        Labels, designs, covariates and texts, with one entry per row; other values are returned unchanged. Rows without
        a label are left out.
    rows : {'same', 'shared'}
        Whether all must have the same rows, or only the rows whose names all of them have are used.
    missing : {'refuse', 'drop'}
        Whether rows with NaN or infinity raise an error, or are left out everywhere, as are rows of zeros if `zero`.
    metric : {'cosine', 'correlation', 'euclidean'}
        Rows without a direction under this metric count as missing: zero rows for cosine, constant rows for
        correlation; only for 'drop'.
    directed : bool
        Whether a row of zeros is refused, because a score needs the direction of every row; only for 'refuse'.
    align : bool
        Whether to put all rows in one order even if none are left out; other callers do so later.
    need : function, optional
        Bytes that the work on matrices of these shapes needs. If they exceed the memory budget, random rows are used.
    most : int
        Number of random rows; fewer if even these exceed the budget.
    seed : int, Generator or None
        Seed of the random rows.

    Returns
    -------
    dict, dict
        Both mappings, with the same keys.
    """
    sides = {name: _Side.read(X, name) for name, X in representations.items()}
    for name, X in representations.items():
        _state_transposed(X, name)
        _refuse_empty_diagonal(X, name)
    _state_other_features(representations)
    size, needed = (0, 0.0) if need is None else _sample_size(list(sides.values()), need, most)
    used, extra = restrict(sides, along or {}, rows=rows, missing=missing, metric=metric, align=align or size > 0)
    if size and (n := next(iter(used.values())).n_rows) > size:
        chosen = np.sort(spawn(seed, _SAMPLING).choice(n, size, replace=False))
        used = {name: side.take_rows(chosen) for name, side in used.items()}
        extra = {name: _take(value, chosen) if _n_entries(value) == n else value for name, value in extra.items()}
        state(f"{size:,} of {n:,} rows used, drawn at random: all need {memory.format_bytes(needed)} of memory")
    if missing == "refuse":
        faults = {name: fault for name, side in used.items() if (fault := _fault(side, name, directed=directed))}
        if faults:
            (_, message), *others = faults.items()
            raise ValueError(message + f". The same fault: {join_items(name for name, _ in others)}" * bool(others))
    warn_of_other_order({name: side.value for name, side in used.items()})
    warn_of_resemblance_by_name({name: side.value for name, side in used.items()}, extra)
    fewest = min((side.shape[1] for side in used.values() if len(side.shape) == 2), default=0)
    if directed and fewest == 2:
        state_warning(
            "rows of two columns have correlation distances of either 0 or 2, and cosine distances that ignore their "
            "lengths; name another metric, such as RSA(metric=euclidean) and mutual kNN(metric=euclidean)"
        )
    elif directed and metric == "correlation" and fewest in _RSA_OF_ROTATED:
        state_warning(
            f"correlation distances of rows of {fewest} columns depend on the axes (RSA of rotated copies is about "
            f"{_RSA_OF_ROTATED[fewest]} instead of 1); name another metric, such as RSA(metric=euclidean)"
        )
    for side in used.values():
        if isinstance(side.value, Rdm):
            warn_of_unknown_distances(side.value.condensed, side.n_rows)
    for name, value in extra.items():
        if name in ("y", "labels") and _n_entries(value) == (n := next(iter(used.values())).n_rows) and n:
            warn_of_misnamed_labels(next(iter(used.values())).value, name, value)
    return {name: side.value for name, side in used.items()}, extra


_RSA_OF_ROTATED = {3: 0.55, 4: 0.67}
"""Median rank correlation between the correlation distances of 120 normal rows and of rotated copies, by the number of
columns; it is 0.71 for 5, 0.85 for 8 and 0.97 for 32."""


def _state_transposed(X: Any, name: str) -> None:
    """Warn if the rows of a table in memory are named like features, and its columns like inputs."""
    if hasattr(X, "iloc") and hasattr(X, "columns") and X.index.dtype.kind == "O":
        text, features, inputs = describe_transposed(X.index, X.columns)
        if text:
            state(f"{name}: {text}; to compare {inputs}, pass {name}.T")
            warn(
                f"{name}: {text}. Similarities are then between {features}; to compare {inputs}, pass {name}.T",
                RowNamesWarning,
            )


def _refuse_empty_diagonal(X: Any, name: str) -> None:
    """Refuse a square matrix of which only the diagonal is not finite, such as Fisher's z of correlations."""
    if check.has_empty_diagonal(X):
        raise ValueError(
            f"{name} must be features, got a square matrix without numbers on its diagonal, "
            f"{check.remedy_of_empty_diagonal(name)}"
        )


def _state_other_features(representations: Mapping[str, Any]) -> None:
    """State how many features two tables share, if their names show that they differ, as selected genes do."""
    tables = [(name, names) for name, X in representations.items() if (names := column_names(X)) is not None]
    for (one, first), (other, second) in pairwise(tables):
        shared = np.intersect1d(first.values.astype(str), second.values.astype(str))
        if 0 < len(shared) < max(len(first), len(second)):
            state(f"{one} and {other} have {len(shared):,} of {len(first):,} and {len(second):,} features in common")


_CHECKED = 1 << 26
"""Number of values up to which the order of rows without names is checked."""


def warn_of_other_order(arrays: Mapping[str, Any]) -> None:
    """Warn if matrices in memory contain the rows of the first one in another order than that in which they are paired.

    Their names then belong to other rows, or they have none.
    """
    found = [(name, *_matrix(X, name)) for name, X in arrays.items()]
    matrices = [(name, X, names) for name, X, names in found if X is not None]
    n_values, warned = 0, False
    for name, X, names in matrices:
        first, Y, others = matrices[0]
        n_values += X.size
        if warned or name == first or n_values > _CHECKED or X.shape[0] != len(Y):
            continue
        order = _order_by_name(others, names)
        text = remedy = ""
        # A representation without layers has one layer, which has this name.
        other, one = (each.removesuffix("['representation']") for each in (name, first))
        by_position, by_name = (
            (0.0, 0.0) if order is None else (similarity_correlation(Y, rows) for rows in (X, X[order]))
        )
        if names is not None and fits_better(by_position, by_name, len(Y)):
            text = (
                f"rows of {other} are matched with those of {one} by {names.word}, but fit far better by position "
                f"(correlation of similarities {by_position:.2f} instead of {round(by_name, 2) + 0.0:.2f})"
            )
            remedy = "so one of them seems to have wrong names. Pass arrays without names (.to_numpy(), --by-position)"
        elif names is not None and others is not None and order is None and not names.has_same_order(others):
            # Names that do not match are refused where rows are paired.
            continue
        elif (places := find_row_order(Y, X if order is None else X[order])).is_other:
            text = f"{other} seems to contain the rows of {one} in another order"
            remedy = "but rows are paired by position. Pass data with row names, such as tables with an index"
            if others is not None and names is not None and names.has_same_names(others):
                text = f"{other} seems to contain the rows of {one} under other {plural(names.word)}"
                remedy = f"so one of them has wrong {plural(names.word)}. Correct them, or the order of the rows, first"
        elif places.moved:
            text = places.describe(other, one, others if names is not None else None)
            against = " against their names" if names is not None else ""
            remedy = f"as if rows had been shifted{against}. Correct the order of its rows first"
        if warned := bool(text):
            state_warning(f"{text}, {remedy}", is_raised=True, questions_input=True)
            warn(f"{text}, {remedy}", RowNamesWarning)


def warn_of_resemblance_by_name(arrays: Mapping[str, Any], along: Mapping[str, Any]) -> None:
    """Warn if rows are named like parts, such as chunks of documents, and are alike, but no design declares them."""
    if "groups" not in along or any(along.get(name) is not None and along[name] is not False for name in _DESIGN):
        return
    found = [_matrix(X, name) for name, X in arrays.items()]
    if not found or any(X is None or X.size > _CHECKED or not np.isfinite(X).all() for X, _ in found):
        return
    labels = next((along[name] for name in ("y", "labels") if along.get(name) is not None), None)
    known = next((names for _, names in found if names is not None), None)
    if all(signs := [resemblance_by_name(names or known, X, labels) for X, names in found if X is not None]):
        text = (
            f"p-values may be too small and intervals too narrow: {signs[0]}; if they are parts of one document or "
            "recording, pass groups=, or one row of each, such as the mean"
        )
        state_warning(text, is_raised=True)
        warn(text, CalibrationWarning)


_DESIGN = ("groups", "blocks", "within", "shift", "block_length", "permutations")
"""Arguments that declare which rows depend on one another."""


def warn_of_misnamed_labels(rows: Any, name: str, value: Any) -> None:
    """Warn if labels fit the rows far better by position than by the names by which they are matched."""
    X, names = _matrix(rows, name)
    if X is None or names is None or np.shape(value) != (len(X),):
        return
    try:
        with ignore_statements(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            both = [np.asarray(one).astype(str) for one in (value, align_labels(names, value, name))]
    except (ValueError, TypeError):  # Labels that cannot be matched are refused where they are used.
        return
    if len(both[1]) != len(X) or (both[0] == both[1]).all():
        return
    classes = np.unique(both[0])[:_CLASSES]
    by_position, by_name = (similarity_correlation(X, 1.0 * (labels[:, None] == classes)) for labels in both)
    if fits_better(by_position, by_name, len(X)):
        text = (
            f"{name} is matched with the rows by {names.word}, but fits far better by position; if entry i belongs to "
            "row i, pass arrays without names (.to_numpy(), --by-position)"
        )
        state_warning(text, is_raised=True)
        warn(text, RowNamesWarning)


_CLASSES = 50
"""Number of classes by which labels are compared."""
_FIT, _NOISE, _MISFIT = 0.2, 10, 0.25
"""How well rows fit by position, for many rows and in addition for few ones, and share that remains by name."""
_COMPARED = 300
"""Number of rows whose similarities are compared."""


def fits_better(correlation: float, other: float, n_rows: int) -> bool:
    """Return whether rows fit clearly in one order, by the correlation of their similarities, and hardly in another."""
    return correlation > _FIT + _NOISE / n_rows and other < _MISFIT * correlation


def _matrix(X: Any, name: str) -> tuple[NDArray[Any] | None, Names | None]:
    """Return a dense matrix in memory and the names of its rows; None for other data."""
    if isinstance(X, Rdm) or (isinstance(X, Representation) and X.has_distances_only):
        return None, None
    side = _Side.read(X, name)
    if isinstance(X, Rows):
        values = None if X.is_sparse else X.sample
    else:
        values = X.to_numpy.rows if isinstance(X, Representation) else side.values
    is_dense = isinstance(values, np.ndarray) and values.ndim == 2 and values.dtype.kind in "fiu"
    return values if is_dense else None, side.names


def _order_by_name(first: Names | None, other: Names | None) -> Index | None:
    """Return the order in which rows of the other side are matched by name; None if it is theirs, or they are not."""
    if first is None or other is None or first is other:
        return None
    with ignore_statements(), warnings.catch_warnings(), suppress(ValueError):
        warnings.simplefilter("ignore")
        return orders({"first": first, "other": other}).get("other")
    return None


def similarity_correlation(X: NDArray[Any], Y: NDArray[Any]) -> float:
    """Return the correlation of the cosine similarities between some centred rows of each side."""
    chosen = np.unique(np.linspace(0, len(X) - 1, _COMPARED).astype(np.intp))
    upper = np.triu_indices(len(chosen), 1)
    pairs: list[NDArray[Any]] = []
    for rows in (X, Y):
        # The selection is a copy, which is changed in place.
        centred = rows[chosen].astype(np.float64, copy=False)
        centred -= centred.mean(axis=0)
        lengths = np.sqrt(np.einsum("ij,ij->i", centred, centred))
        centred /= np.maximum(lengths, np.finfo(float).tiny)[:, None]
        products = np.asarray(centred @ centred.T)
        pairs.append(products[upper])
    correlation = float(np.corrcoef(pairs)[0, 1]) if min(map(np.ptp, pairs)) > 0 else 0.0
    return correlation if np.isfinite(correlation) else 0.0


def _sample_size(
    sides: Sequence[_Side], need: Callable[[list[tuple[int, int]]], float], size: int
) -> tuple[int, float]:
    """Return how many random rows to use, 0 for all, and the bytes that all rows need; 0 if they are no matrices."""
    plain = [side.values for side in sides if not isinstance(side.value, Rdm | Representation | Rows)]
    shapes = [shape_of(X) for X in plain]
    if len(plain) < len(sides) or {len(shape) for shape in shapes} != {2} or len({n for n, _ in shapes}) > 1:
        return 0, 0.0
    widths, budget = [int(d) for _, d in shapes], memory.memory_budget()
    needed = need([(int(shapes[0][0]), d) for d in widths])
    if needed <= budget:
        return 0, needed
    while size > _FEWEST_SAMPLED and need([(size, d) for d in widths]) > budget:
        size //= 2
    return size, needed


def select_layer_rows(
    models: Mapping[str, Mapping[Any, Any]],
    along: Mapping[str, Any] | None = None,
    *,
    rows: RowChoice = "same",
    missing: MissingRows = "refuse",
    **options: Any,
) -> tuple[list[dict[Any, Any]], dict[str, Any]]:
    """Restrict all layers of several models, and what belongs to their rows, as `select_rows` does."""
    places = [(model, layer) for model, layers in models.items() for layer in layers]
    layers = {f"{model}[{layer!r}]": models[model][layer] for model, layer in places}
    used, extra = select_rows(layers, along, rows=rows, missing=missing, **options)
    found: dict[str, dict[Any, Any]] = {model: {} for model in models}
    for (model, layer), X in zip(places, used.values(), strict=True):
        found[model][layer] = X
    return list(found.values()), extra


def restrict(
    sides: Mapping[str, T],
    along: Mapping[str, Any],
    *,
    rows: RowChoice,
    missing: MissingRows,
    metric: Metric,
    align: bool = False,
) -> tuple[dict[str, T], dict[str, Any]]:
    """Restrict any kind of representations, and what belongs to their rows, as `select_rows` does."""
    check.choice(rows, ROWS, "rows")
    check.choice(missing, MISSING, "missing")
    along = {name: check.label_column(value, name) if name in _LABELS else value for name, value in along.items()}
    used, extra = dict(sides), {name: value for name, value in along.items() if _n_entries(value) is not None}
    _refuse_entries_of_columns(used, extra)
    some_unlabelled = any(_find_unlabelled(name, value).any() for name, value in extra.items())
    if not used or (rows == "same" and missing == "refuse" and not (some_unlabelled or align)):
        return used, dict(along)
    counts = {name: side.n_rows for name, side in used.items()}
    named = {name: side.names for name, side in used.items()}
    if rows == "shared":
        named |= {name: names for name, value in extra.items() if (names := _names(value, name)) is not None}
    chosen = orders(named, rows=rows)
    used = {name: side.take_rows(chosen[name]) if name in chosen else side for name, side in used.items()}
    if rows == "shared":
        extra = {name: _follow(value, name, chosen, counts) for name, value in extra.items()}
    first = next(iter(used.values()))
    known = next((names for names in (side.names for side in used.values()) if names is not None), None)
    if known is not None:
        extra = {name: _in_order(known, value, name) for name, value in extra.items()}
    n = first.n_rows
    if any(side.n_rows != n for side in used.values()):
        if missing == "drop":
            counted = {name: side.n_rows for name, side in used.items()}
            raise ValueError(f'missing must be "refuse" for different numbers of rows, got "drop" and {counted}')
        return used, {**along, **extra}
    left_out = {
        f"{{}} without a {_ROW_ARGUMENTS[name]}": entries
        for name, value in extra.items()
        # Labels that cannot be read are refused where they are used, by name.
        if name in _ROW_ARGUMENTS and _n_entries(value) == n and len(entries := _find_unlabelled(name, value)) == n
    }
    if missing == "drop":
        used = {name: _drop_empty_columns(side, name) for name, side in used.items()}
        left_out |= _incomplete(used, n, metric)
    kept = _keep(left_out, n)
    if len(kept) < n:
        for name, value in extra.items():
            if _n_entries(value) == len(kept):
                # These are values of other rows than those that are left.
                raise ValueError(f"{name} must have one entry for each of the {n:,} rows, got {len(kept):,}")
        used = {name: side.take_rows(kept) for name, side in used.items()}
        extra = {name: _take(value, kept) if _n_entries(value) == n else value for name, value in extra.items()}
    return used, {**along, **extra}


def _refuse_entries_of_columns(sides: Mapping[str, Selectable], extra: Mapping[str, Any]) -> None:
    """Refuse labels of which there are as many as columns, which are then the inputs."""
    shapes = {tuple(side.shape) for side in sides.values()} if extra else set()
    for name, value in extra.items():
        if name in _ROW_ARGUMENTS and {(len(shape), *shape[1:]) for shape in shapes} == {(2, _n_entries(value))}:
            rows = {shape[0] for shape in shapes}
            if _n_entries(value) not in rows:
                raise ValueError(
                    f"{name} must have one {_ROW_ARGUMENTS[name]} for each of the {min(rows):,} rows, got "
                    f"{_n_entries(value):,}, which is the number of columns; if rows are features, such as neurons or "
                    "genes, transpose (X.T, --transpose)"
                )


def _keep(left_out: Mapping[str, NDArray[np.bool_]], n: int) -> Index:
    """Return the rows that are not left out, and state how many were, with the reasons."""
    kept = np.ones(n, dtype=bool)
    reasons = []
    for reason, rows in left_out.items():
        # A row with several reasons counts once, for the first of them.
        if (rows & kept).any():
            reasons.append(reason.format(f"{int((rows & kept).sum()):,}"))
            kept &= ~rows
    if not kept.any():
        raise ValueError(f"rows must be complete in all inputs, got none of {n:,} rows ({', '.join(reasons)})")
    if reasons:
        state(f"{int(kept.sum()):,} of {n:,} rows used: {', '.join(reasons)} left out")
    return np.flatnonzero(kept)


def _incomplete(sides: Mapping[str, Selectable], n: int, metric: Metric) -> dict[str, NDArray[np.bool_]]:
    """Return, by reason, the rows with NaN or infinity, and those without a direction."""
    kind = "constant" if metric == "correlation" else "zero"
    found: dict[str, NDArray[np.bool_]] = {}
    for name, side in sides.items():
        of = f" in {name}" if len(sides) > 1 else ""
        missing, infinite, undirected = np.zeros((3, n), dtype=bool)
        for start, block in side.blocks():
            flat = block.reshape(len(block), -1)
            missing[start : start + len(block)] = np.isnan(flat).any(axis=1)
            infinite[start : start + len(block)] = np.isinf(flat).any(axis=1)
            # The only value of a row is constant, but may differ from those of other rows.
            undirected[start + find_undirected_rows(flat, metric if flat.shape[1] > 1 else "cosine")] = True
        found |= {f"{{}} with NaN{of}": missing, f"{{}} with infinity{of}": infinite}
        if metric != "euclidean":
            found[f"{{}} {kind}{of}"] = undirected & ~missing & ~infinite
    return found


@dataclass(frozen=True)
class _Side:
    """A representation in memory, as the user passed it."""

    value: Any
    names: Names | None
    n_rows: int

    @property
    def values(self) -> Any:
        """The values without row names, of which what was read is stated where they are used."""
        with ignore_statements():
            return split_names(self.value)[0]

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the values; that of distances has the number of rows only."""
        X = self.value
        return (X.n_rows,) if isinstance(X, Rdm) else tuple(array_shape(self.values))

    @classmethod
    def read(cls, X: Any, name: str) -> _Side:
        """Separate row names from the values, unless the object keeps its names itself."""
        if isinstance(X, Rdm | Representation):
            return cls(X, X.names, X.n_rows)
        if isinstance(X, Rows):
            return cls(X, X.names, len(X))
        values, names = split_names(X, name)
        known = getattr(values, "shape", None)
        shape = known if isinstance(known, tuple) else array_shape(values)
        value = X if values is X or names is None else NamedRows(values, names)
        return cls(value if names is not None else values, names, int(shape[0]) if shape else 0)

    def take_rows(self, chosen: Index) -> _Side:
        """Return some of the rows, with their names."""
        names = None if self.names is None else self.names.take(chosen)
        if isinstance(self.value, Rdm | Representation | Rows):
            part: Any = self.value.take_rows(chosen)
            part.names = names
            return _Side(part, names, len(chosen))
        values = self.values
        if hasattr(values, "tocsr"):
            values = values.tocsr()[chosen]
        else:
            values = take_array_rows(values if is_array(values) else to_host(values), chosen)
        return _Side(values if names is None else NamedRows(values, names), names, len(chosen))

    def take_columns(self, chosen: Index) -> _Side:
        """Return some of the columns of a matrix."""
        if isinstance(self.value, Rows):
            part = self.value.take_columns(chosen)
            part.names = self.names
            return replace(self, value=part)
        values = to_host(self.values)[:, chosen]
        return replace(self, value=values if self.names is None else NamedRows(values, self.names))

    def blocks(self) -> Iterator[tuple[int, NDArray[Any]]]:
        """Yield the values in blocks of rows; sparse rows become dense. Of distances, only missing rows are shown."""
        if isinstance(self.value, Rdm) and self.value.n_missing:
            yield 0, np.where(self.value.rows_without_distances, np.nan, 1.0)[:, None]
        if isinstance(self.value, Rdm) or (isinstance(self.value, Representation) and self.value.has_distances_only):
            return
        if isinstance(self.value, Rows):
            yield from self.value.blocks(_ENTRIES)
            return
        values = self.value.to_numpy.rows if isinstance(self.value, Representation) else self.values
        values = values.tocsr() if hasattr(values, "tocsr") else values
        step = max(1, _ENTRIES // max(1, int(np.prod(np.shape(values)[1:]))))
        for start in range(0, self.n_rows, step):
            block = values[start : start + step]
            yield start, block.toarray() if hasattr(block, "toarray") else to_host(block)


def _drop_empty_columns(side: T, name: str) -> T:
    """Leave out the columns that contain no number in any row, such as masked voxels."""
    empty = np.ones(1, dtype=bool)
    for _, block in side.blocks():
        empty = empty & np.isnan(block).all(axis=0) if block.ndim == 2 else np.zeros(1, dtype=bool)
        if not empty.any():
            return side
    if empty.all():
        return side
    state(f"{name}: {int(empty.sum()):,} of {len(empty):,} columns without any number (NaN) left out")
    return side.take_columns(np.flatnonzero(~empty))


def _fault(side: _Side, name: str, *, directed: bool) -> str:
    """Return a message on NaN, infinity and, if `directed`, zero rows of an array in memory; empty if all is well.

    Others are checked where they are read. Zero rows are named if all other rows are finite, because they are the
    smaller fault.
    """
    values = side.values if not isinstance(side.value, Rdm | Representation | Rows) else None
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "fiu" or values.nbytes > _READ_TWICE:
        return ""
    not_finite, zero = [], []
    # The origin of coordinates is a place like any other.
    is_place = len(side.shape) == 2 and side.shape[1] <= PICTURE_COLUMNS and any(map(is_picture_name, words_of(name)))
    for start, block in side.blocks():
        flat = block.reshape(len(block), -1)
        if not np.isfinite(flat).all():
            not_finite.append(start + np.flatnonzero(~np.isfinite(flat).all(axis=1)))
        if directed and flat.shape[1] and not is_place:
            zero.append(start + np.flatnonzero(~flat.any(axis=1)))
    for rows, message in ((not_finite, check.not_finite), (zero, check.zero_rows)):
        if any(map(len, rows)):
            return message(name, np.concatenate(rows), side.n_rows, side.names)
    return ""


def _n_entries(value: Any) -> int | None:
    """Return the number of rows that a value describes, or None if it does not describe rows."""
    if value is None or isinstance(value, str | bytes | int | float):
        return None
    if isinstance(value, Rdm):
        return value.n_rows
    if isinstance(value, Mapping):
        counts = {_n_entries(entry) for entry in value.values()}
        return counts.pop() if len(counts) == 1 else None
    if is_array(value):
        return int(value.shape[0]) if value.shape else None
    return len(value) if hasattr(value, "__len__") else None


def _names(value: Any, name: str) -> Names | None:
    """Return the names of the rows that labels or covariates describe."""
    if isinstance(value, Rdm):
        return value.names
    if isinstance(value, Mapping):
        return next((names for entry in value.values() if (names := _names(entry, name)) is not None), None)
    if hasattr(value, "iloc") and hasattr(value, "index"):
        names = Names.from_index(value.index)
    else:
        names = split_names(value, name)[1] if is_array(value) else None
    return names if names is not None and names.certain else None


def _follow(value: Any, name: str, chosen: Mapping[str, Index], counts: Mapping[str, int]) -> Any:
    """Select the rows of labels by their own names, or else as in the first representation with as many rows."""
    if not chosen or name in chosen:
        return _take(value, chosen[name]) if name in chosen else value
    like = next((side for side, n in counts.items() if n == _n_entries(value)), None)
    return value if like is None else _take(value, chosen[like])


def _in_order(known: Names, value: Any, name: str) -> Any:
    if isinstance(value, Mapping):
        return {key: align_labels(known, entry, key) for key, entry in value.items()}
    return value if isinstance(value, Rdm | list | tuple) else align_labels(known, value, name)


def _take(value: Any, chosen: Index) -> Any:
    """Take entries of labels, covariates or texts, and keep their kind."""
    if isinstance(value, Rdm):
        return value.take_rows(chosen)
    if isinstance(value, Mapping):
        return {name: _take(entry, chosen) for name, entry in value.items()}
    if hasattr(value, "iloc"):
        return value.iloc[chosen]
    if isinstance(value, list | tuple):
        return [value[row] for row in chosen]
    if isinstance(value, NamedRows):
        return NamedRows(value.values[chosen], value.known.take(chosen))
    return to_host(split_names(value)[0])[chosen]


def _lacks_numbers(array: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which rows of a covariate contain NaN."""
    if array.dtype.kind != "f" or not array.ndim:
        return np.zeros(array.shape[:1] or (0,), dtype=bool)
    return np.asarray(np.isnan(array).any(axis=tuple(range(1, array.ndim))))


def _find_unlabelled(name: str, value: Any) -> NDArray[np.bool_]:
    """Return which entries of labels are missing: None, NaN, empty text or text that means NaN."""
    nobody = np.zeros(0, dtype=bool)
    if name == "covariates" and not isinstance(value, Rdm):
        parts = list(value.values()) if isinstance(value, Mapping) else [value]
        try:
            arrays = [to_host(split_names(part, name)[0] if is_array(part) else part, name) for part in parts]
        except (TypeError, ValueError):
            return nobody
        return np.any([_lacks_numbers(array) for array in arrays], axis=0) if arrays else nobody
    if name not in _LABELS or isinstance(value, Mapping | Rdm):
        return nobody
    try:
        array = to_host(split_names(value, name)[0] if is_array(value) else value, name)
    except (TypeError, ValueError):
        return nobody
    if array.ndim != 1:
        return np.zeros(len(array) if array.ndim else 0, dtype=bool)
    check.require_scalars(array, name)
    missing = lacks_label(array)
    state_suspicious_classes(array[~missing], name)
    return missing
