"""Compare two representations within each class of rows."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shesha.comparison.compare import compare
from shesha.inputs import MissingRows, RowChoice, labels_in_order, orders, split_names
from shesha.inputs import validation as check
from shesha.measures import Measure, choose
from shesha.measures.measure_type import Choice
from shesha.nulls.corrections import benjamini_hochberg
from shesha.nulls.design_builder import equal_groups
from shesha.results import Comparison
from shesha.results.similarity.within_classes import WithinClasses
from shesha.support.default_draw_counts import N_PERMUTATIONS
from shesha.support.device_arrays import to_host
from shesha.support.plurals import count
from shesha.support.progress import track
from shesha.support.provenance import keep_statements
from shesha.support.seeds import generator
from shesha.support.types import Index, Seed
from shesha.support.warnings import CalibrationWarning
from shesha.views import Rdm, select_rows

MEASURES = ("RSA", "mutual kNN", "CKA")
"""Default measures, which compare all distances, nearest neighbours, and the largest variances."""


@keep_statements
def compare_within(
    X: ArrayLike,
    Y: ArrayLike,
    labels: ArrayLike,
    measures: Choice | Iterable[Choice] = MEASURES,
    *,
    names: tuple[str, str] = ("X", "Y"),
    blocks: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    min_rows: int = 20,
    min_group: int = 5,
    n_permutations: int = N_PERMUTATIONS,
    alpha: float = 0.05,
    confidence: float = 0.95,
    rows: RowChoice = "same",
    missing: MissingRows = "refuse",
    seed: Seed = 0,
) -> WithinClasses:
    """Compare two representations of the same rows within each class, with a separate null for each.

    If classes are well separated, any two representations that separate them look similar. A batch integration, for
    example, can preserve cell types but lose all structure within them. Comparing within each class reveals this.

    Parameters
    ----------
    X, Y : arrays of shape (n_samples, n_features)
        As for `compare`. Rows with names are matched by name.
    labels : array of shape (n_samples,)
        The class of each row, such as the cell type. Rows without a label (None, NaN) are left out.
    measures
        As for `compare`.
    names : pair of str
        Names of X and Y in the table.
    blocks : array of shape (n_samples,), optional
        Labels of blocks, such as batches, on which both sides may depend. Rows are permuted only within blocks.
    groups : array of shape (n_samples,), optional
        Labels of groups, such as donors, which are permuted as a whole. Only groups of equal size can be permuted, so
        each class uses as many rows of every group as its smallest group has.
    min_rows : int
        Minimum number of rows in a class. Smaller classes are listed but not compared.
    min_group : int
        Minimum number of rows that a group must have in a class. Smaller groups are left out of this class.
    n_permutations, alpha, confidence, rows, missing, seed
        As for `compare`.

    Returns
    -------
    WithinClasses
        The comparisons of all classes. `to_frame()` has one line per class and measure, and ``["T cell"]`` is the
        comparison for one class.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> types = np.repeat(["B", "T"], 40)
    >>> X = rng.standard_normal((80, 10)) + 3 * (types == "T")[:, None]
    >>> lost = np.where((types == "T")[:, None], rng.standard_normal((80, 10)) + 3, X)  # All that is within T is gone.
    >>> found = compare_within(X, lost, types, "CKA", n_permutations=99)
    >>> frame = found.to_frame().set_index("class")
    >>> round(float(frame["value"]["all rows"]), 1)
    1.0
    >>> frame["p"].to_dict()["B"], frame["p"].to_dict()["T"] > 0.05
    (0.01, True)
    """
    min_rows = check.count(min_rows, "min_rows", minimum=5)
    min_group = check.count(min_group, "min_group", minimum=2)
    _check_names(names)
    along = {"labels": labels, "blocks": blocks, "groups": groups}
    sides, along = select_rows(dict(zip(map(str, names), (X, Y), strict=True)), along, rows=rows, missing=missing)
    X, Y = sides.values()
    rows_of_both = _LabelledRows.build(X, Y, names, along)
    options: dict[str, Any] = {
        "names": names,
        "calibrate": True,
        "n_permutations": n_permutations,
        "alpha": alpha,
        "confidence": confidence,
        "seed": seed,
    }
    chosen = choose(measures)
    excluded: dict[str, str] = {}
    classes: dict[str, Comparison] = {}
    used: list[Index] = []
    for name in track(rows_of_both.class_names, len(rows_of_both.class_names), "classes"):
        inside, reason = _rows(rows_of_both.classes == name, rows_of_both.block, rows_of_both.group, min_group)
        if len(inside) < min_rows or reason:
            excluded[name] = reason or f"{count(len(inside), 'row')}, fewer than {min_rows}"
            continue
        used.append(inside)
        classes[name] = rows_of_both.compare(inside, chosen, **rows_of_both.design(inside), **options)
    if not classes:
        reasons = "; ".join(f"{name}: {why}" for name, why in excluded.items())
        raise ValueError(
            f"labels must contain a class of at least {count(min_rows, 'row')} that can be compared, got none "
            f"({reasons})"
        )
    # Rows sorted by class would look like a drifting series, so they are shuffled.
    everything = generator(0).permutation(np.concatenate(used))
    with warnings.catch_warnings():
        # With permutations within classes, the scores of all rows look saturated, which is what this comparison is
        # meant to show.
        warnings.simplefilter("ignore", CalibrationWarning)
        total = rows_of_both.compare(everything, chosen, **rows_of_both.design_within_classes(everything), **options)
    sizes = {name: len(part) for name, part in zip(classes, used, strict=True)}
    corrected = {measure.name: _correct_over_classes(classes, measure.name) for measure in chosen}
    return WithinClasses(str(names[0]), str(names[1]), classes, sizes, total, excluded, corrected)


def _check_names(names: Any) -> None:
    """Refuse anything but two different names."""
    if not isinstance(names, Sequence) or isinstance(names, str) or len(names) != 2:
        raise TypeError(f"names must be two names, got {names!r}")
    if str(names[0]) == str(names[1]):
        raise ValueError(f"names must be two different names, got {names!r}")


@dataclass(frozen=True)
class _LabelledRows:
    """The rows of both representations, with the class, block and group of each row."""

    sides: tuple[NDArray[Any], NDArray[Any]]
    classes: NDArray[Any]
    block: NDArray[Any] | None
    group: NDArray[Any] | None

    @classmethod
    def build(cls, X: ArrayLike, Y: ArrayLike, names: tuple[str, str], labels: dict[str, Any]) -> _LabelledRows:
        """Check both representations and their labels, and match the rows by name."""
        (first, second), aligned = _align_rows(X, Y, names, labels)
        classes = _labels_as_text(aligned["labels"], len(first), "labels")
        block, group = (
            None if aligned[name] is None else _labels_as_text(aligned[name], len(first), name)
            for name in ("blocks", "groups")
        )
        return cls((first, second), classes, block, group)

    @property
    def class_names(self) -> list[str]:
        """Names of the classes in alphabetical order."""
        return sorted({name for name in self.classes if name is not None})

    def compare(self, rows: Index, measures: list[Measure], **options: Any) -> Comparison:
        """Compare the given rows of both representations."""
        return compare(self.sides[0][rows], self.sides[1][rows], measures, **options)

    def design(self, rows: Index) -> dict[str, Any]:
        """Return the blocks and groups of rows from one class."""
        parts = {"blocks": self.block, "groups": self.group}
        return {name: None if labels is None else labels[rows].astype(str) for name, labels in parts.items()}

    def design_within_classes(self, rows: Index) -> dict[str, Any]:
        """Return blocks and groups such that rows are never exchanged between classes."""
        classes = self.classes[rows]
        if self.group is not None:
            return {"blocks": classes.astype(str), "groups": _join_labels(classes, self.group[rows])}
        return {"blocks": classes.astype(str) if self.block is None else _join_labels(classes, self.block[rows])}


def _correct_over_classes(classes: dict[str, Comparison], measure: str) -> dict[str, float]:
    """Return the p-values of one measure, corrected for the number of classes."""
    corrected = benjamini_hochberg([comparison[measure].p_value for comparison in classes.values()])
    return dict(zip(classes, corrected.tolist(), strict=True))


def _align_rows(
    X: ArrayLike, Y: ArrayLike, names: tuple[str, str], labels: dict[str, Any]
) -> tuple[list[NDArray[Any]], dict[str, Any]]:
    for name, side in zip(names, (X, Y), strict=True):
        if isinstance(side, Rdm):
            raise TypeError(f"{name} must be features, to select the rows of each class, got distances (Rdm)")
    split = {name: split_names(array, name) for name, array in zip(names, (X, Y), strict=True)}
    moved = orders({name: rows for name, (_, rows) in split.items()})
    arrays = [check.matrix(values, name) for name, (values, _) in split.items()]
    arrays = [array[moved[name]] if name in moved else array for name, array in zip(split, arrays, strict=True)]
    if len(arrays[0]) != len(arrays[1]):
        raise ValueError(f"{names[1]} must have as many rows as {names[0]} ({len(arrays[0])}), got {len(arrays[1])}")
    aligned_names = [None if name in moved else rows for name, (_, rows) in split.items()]
    given_labels = {name: labels_or_none for name, labels_or_none in labels.items() if labels_or_none is not None}
    return arrays, dict.fromkeys(labels) | labels_in_order(aligned_names, given_labels)


def _labels_as_text(values: Any, n_rows: int, name: str) -> NDArray[Any]:
    """Return labels as text, with None for missing ones."""
    from pandas import isna

    plain = split_names(values, name)[0] if hasattr(values, "shape") else values
    array = np.asarray(to_host(plain), dtype=object)
    if array.shape != (n_rows,):
        raise ValueError(f"{name} must have one label for each of the {n_rows} rows, got shape {array.shape}")
    return np.array([None if isna(value) else str(value) for value in array], dtype=object)


def _join_labels(first: NDArray[Any], second: NDArray[Any]) -> NDArray[Any]:
    return np.array([f"{a} | {b}" for a, b in zip(first, second, strict=True)])


def _rows(
    inside: NDArray[Any], block: NDArray[Any] | None, group: NDArray[Any] | None, min_group: int
) -> tuple[Index, str]:
    """Return the rows of a class that can be used, or a reason if the class cannot be compared."""
    rows = np.flatnonzero(inside)
    for labels in (block, group):
        if labels is not None:
            rows = rows[[value is not None for value in labels[rows]]]
    if group is None:
        return rows, ""
    names, counts = np.unique(group[rows].astype(str), return_counts=True)
    large = names[counts >= min_group]
    if len(large) < 3:
        return rows, f"{count(len(large), 'group')} with at least {count(min_group, 'row')}, fewer than 3"
    rows = rows[np.isin(group[rows].astype(str), large)]
    return rows[equal_groups(group[rows].astype(str), seed=0)], ""
