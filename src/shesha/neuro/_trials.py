"""Trials and their conditions, checked once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from shesha.inputs import align_labels, coordinate_values, is_labelled, transpose_axes
from shesha.inputs import validation as check
from shesha.support.types import Array, Index, Labels, Mask, Matrix

ROLES = (
    ("trial", "presentation", "event", "stimulus"),
    ("neuron", "unit", "cell", "neuroid", "channel", "electrode", "roi"),
    ("time", "time_bin", "bin", "timepoint"),
)
"""Known names of the axes of labelled arrays, in the singular. If all names are known, the axes may be in any order."""
Conditions = ArrayLike | str | Sequence[str]


@dataclass(frozen=True, eq=False)
class Trials:
    """Responses of neurons in trials, in the order of recording."""

    values: Array
    """Responses of shape (n_trials, n_neurons) or (n_trials, n_neurons, n_times), as float64."""
    codes: Labels
    """Code for the condition of each trial; -1 for a trial that is left out."""
    names: tuple[str, ...]
    """Names of the conditions."""
    source: Any = None
    """The input array if its axes are named; None for other inputs."""
    notes: tuple[str, ...] = ()

    @classmethod
    def build(cls, X: Any, conditions: Conditions | None, name: str = "X", *, min_trials: int = 2) -> Trials:
        """Check responses and conditions; leave out conditions with too few trials, and note which."""
        values, source = responses(X, name)
        if conditions is None:
            return cls(values, np.zeros(len(values), dtype=np.intp), ("",), source)
        codes, names = condition_codes(X if source is None else source, conditions, len(values), name)
        counts = np.bincount(codes, minlength=len(names))
        few = np.flatnonzero(counts < min_trials)
        number = np.cumsum(counts >= min_trials) - 1
        codes = np.where(counts[codes] >= min_trials, number[codes], -1).astype(np.intp)
        kept = tuple(condition for k, condition in enumerate(names) if counts[k] >= min_trials)
        left_out = check.join_items(names[k] for k in few)
        note = (f"conditions with fewer than {min_trials} trials are left out: {left_out}",)
        return cls(values, codes, kept, source, note if len(few) else ())

    @property
    def n_trials(self) -> int:
        """Number of trials, including trials of conditions that are left out."""
        return len(self.values)

    @property
    def n_neurons(self) -> int:
        """Number of neurons."""
        return int(self.values.shape[1])

    @property
    def n_conditions(self) -> int:
        """Number of conditions that have enough trials."""
        return len(self.names)

    @property
    def rates(self) -> Matrix:
        """Responses averaged over time, of shape (n_trials, n_neurons)."""
        rates: Matrix = self.values if self.values.ndim == 2 else self.values.mean(axis=2)
        return rates

    @property
    def silent(self) -> Mask:
        """Mask of the neurons that respond in no trial."""
        return np.asarray(~self.values.any(axis=(0, 2) if self.values.ndim == 3 else 0))

    def take_neurons(self, neurons: Index | Mask) -> Trials:
        """Return the same trials for some of the neurons."""
        return replace(self, values=self.values[:, neurons], source=None)


def responses(X: Any, name: str = "X", *, min_trials: int = 2) -> tuple[Array, Any]:
    """Return finite responses (trials, neurons[, times]) and the labelled array; None if unlabelled."""
    source = transpose_axes(X, ROLES) if is_labelled(X) else None
    array = check.dense(X if source is None else source, name)
    if array.dtype.kind == "O" and not array.ndim:
        raise TypeError(f"{name} must be an array of responses (trials x neurons), got a {type(X).__name__}")
    if array.ndim not in (2, 3) or 0 in array.shape:
        raise ValueError(f"{name} must be (n_trials, n_neurons) or (n_trials, n_neurons, n_times), got {array.shape}")
    flat = check.raw_matrix(array.reshape(len(array), -1), name, min_rows=min_trials)
    return check.finite(flat, name).reshape(array.shape), source


def condition_codes(X: Any, conditions: Conditions, n_trials: int, name: str = "X") -> tuple[Labels, tuple[str, ...]]:
    """Return a condition code per trial; with several columns, each combination of values is a condition."""
    labels = align_labels(X, _conditions_from_coordinates(X, conditions, name), "conditions", name)
    columns = check.dense(labels, "conditions")
    if columns.ndim == 2:
        if len(columns) != n_trials:
            raise ValueError(f"conditions must have one entry for each of the {n_trials} trials, got {len(columns)}")
        if not columns.shape[1]:
            raise ValueError("conditions must have at least one column, got none")
        parts = [check.labels(column, n_trials, "conditions", min_classes=1) for column in columns.T]
        codes, levels = np.unique(np.stack([code for code, _ in parts]), axis=1, return_inverse=True)[::-1]
        names = [" ".join(str(part[1][level]) for part, level in zip(parts, line, strict=True)) for line in levels.T]
        return codes.ravel().astype(np.intp), tuple(names)
    class_codes, classes = check.labels(labels, n_trials, "conditions", min_classes=1)
    return class_codes, tuple(map(str, classes))


def _conditions_from_coordinates(X: Any, conditions: Any, name: str) -> Any:
    """Look up conditions by name among the coordinates of a labelled array."""
    named = [conditions] if isinstance(conditions, str) else conditions
    if not is_labelled(X):
        if isinstance(conditions, str):
            raise TypeError(
                f"conditions must be one label per trial if {name} has no named axes, got the name {conditions!r}"
            )
        return conditions
    if not isinstance(conditions, str) and not (isinstance(named, list | tuple) and set(named) <= set(X.coords)):
        return conditions
    pairs = [coordinate_values(X, coordinate, name) for coordinate in named]
    for coordinate, (axis, _) in zip(named, pairs, strict=True):
        if axis != X.dims[0]:
            raise ValueError(f"conditions must be along the axis {X.dims[0]!r}, got {coordinate!r} along {axis!r}")
    return pairs[0][1] if isinstance(conditions, str) else np.column_stack([values.astype(str) for _, values in pairs])
