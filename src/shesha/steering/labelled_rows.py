"""Rows with labels and groups: disjoint halves of whole groups, shuffled labels, and principal coordinates."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import exp, lgamma, log
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from shesha.inputs import align_labels, validation as check
from shesha.inputs.validation import require_squarable
from shesha.kernels.threads import single_threaded_blas
from shesha.nulls import summarise
from shesha.nulls.design_warnings import find_undeclared_dependence
from shesha.nulls.group_halves import draw_group_half
from shesha.results import Number
from shesha.support.seeds import ALPHA, generator
from shesha.support.types import Index, Labels, Mask, Matrix, Seed, Vector
from shesha.support.warnings import CalibrationWarning, warn
from shesha.support.wording import agree, count


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Centred rows, rotated to orthogonal columns without loss of information."""

    values: Matrix
    """Coordinates of shape (n_samples, k), where k is the smaller of n_samples and n_features."""
    axes: Matrix
    """The principal axes, of shape (k, n_features)."""
    mean: Vector
    norm: float
    """Mean length of the rows before centring; in units of 'norm', a steering strength of 1 equals this length."""

    @cached_property
    def squared_distances(self) -> Matrix:
        """Squared distances between all rows."""
        lengths = np.einsum("ij,ij->i", self.values, self.values)
        with single_threaded_blas():
            squares = lengths[:, None] + lengths[None, :] - 2 * self.values @ self.values.T
        return np.asarray(np.maximum(squares, 0.0))


def coordinates(X: ArrayLike, name: str = "X") -> Coordinates:
    """Check the rows and compute their principal coordinates."""
    rows = require_squarable(check.matrix(X, name, min_rows=8), name)
    norm = float(np.linalg.norm(rows, axis=1).mean())
    mean = rows.mean(axis=0)
    centred = rows - mean
    # The mean of equal rows may differ from them by rounding.
    if not centred.any() or (rows == rows[0]).all():
        raise ValueError(f"{name} must have rows that differ, got {len(rows)} equal rows")
    with single_threaded_blas():
        if len(rows) >= rows.shape[1]:
            axes = np.linalg.eigh(centred.T @ centred)[1].T[::-1]
            return Coordinates(centred @ axes.T, axes, mean, norm)
        # With fewer rows than features, directions orthogonal to all rows affect neither fits nor distances.
        basis, triangle = np.linalg.qr(centred.T)
        turn = np.linalg.eigh(triangle @ triangle.T)[1][:, ::-1]
        return Coordinates(triangle.T @ turn, (basis @ turn).T, mean, norm)


_FEWEST = 4
"""Smallest number of rows per class: two in each half."""
_TRIES = 200
_FEWEST_DRAWS = 19
NO_SHUFFLES = "no shuffles were requested"
_SAID = 1000
"""If there are fewer distinct shuffles than this, a note says that p-values cannot be small."""


@dataclass(frozen=True)
class Labelled:
    """Class and group of each row; if no groups are given, each row is its own group."""

    codes: Labels
    names: tuple[str, ...]
    group: Index
    grouped: bool

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.names)

    @cached_property
    def members(self) -> tuple[Index, ...]:
        """Row numbers of each group."""
        order = np.argsort(self.group, kind="stable")
        return tuple(np.split(order, np.flatnonzero(np.diff(self.group[order])) + 1))

    @cached_property
    def pure(self) -> Mask:
        """Mask of the groups that contain only one class; their labels are shuffled among these groups."""
        firsts = np.array([rows[0] for rows in self.members])
        other = self.codes != self.codes[firsts][self.group]
        return np.asarray(np.bincount(self.group[other], minlength=len(self.members)) == 0)

    def halves(self, codes: Labels, rng: np.random.Generator) -> Mask:
        """Draw one half of the rows as whole groups; classes are divided evenly and are in both halves."""
        for _ in range(_TRIES):
            first = draw_group_half(self.group, self._kinds(codes), rng)
            if all(len(np.unique(codes[side])) == self.n_classes for side in (first, ~first)):
                return first
        raise ValueError(
            "groups must allow two halves that both contain every class, got none in "
            f"{_TRIES} random divisions of {len(self.members)} groups; use more groups"
        )

    def shuffle(self, rng: np.random.Generator) -> Labels:
        """Shuffle labels within groups that contain several classes, and among groups of a single class."""
        codes = self.codes.copy()
        pure = np.flatnonzero(self.pure)
        if len(pure):
            taken = self.codes[[self.members[unit][0] for unit in rng.permutation(pure)]]
            of_group = np.zeros(len(self.members), dtype=np.intp)
            of_group[pure] = taken
            codes = np.where(self.pure[self.group], of_group[self.group], codes)
        for unit in np.flatnonzero(~self.pure):
            rows = self.members[unit]
            codes[rows] = self.codes[rng.permutation(rows)]
        return codes

    def resample_counts(self, rng: np.random.Generator) -> Index:
        """Draw how often each row counts in a resample of whole groups, stratified by class."""
        counts = np.zeros(len(self.members), dtype=np.intp)
        kind = self._kinds(self.codes)
        for code in np.unique(kind):
            units = np.flatnonzero(kind == code)
            counts += np.bincount(rng.choice(units, len(units)), minlength=len(counts))
        return counts[self.group]

    def _kinds(self, codes: Labels) -> Labels:
        """Class of each group; groups that contain several classes form an additional class."""
        return np.where(self.pure, codes[[rows[0] for rows in self.members]], self.n_classes)

    @cached_property
    def log_count(self) -> float:
        """Logarithm of the number of distinct shuffles."""
        firsts = np.array([rows[0] for rows in self.members])
        sets = [self.codes[firsts[self.pure]]]
        sets += [self.codes[self.members[unit]] for unit in np.flatnonzero(~self.pure)]
        return sum(_log_arrangements(codes) for codes in sets)

    @property
    def shuffle_description(self) -> str:
        """Describe which labels are shuffled."""
        if not self.grouped:
            return "labels of all rows"
        kinds = {"labels of whole groups": self.pure, "labels within groups": ~self.pure}
        return " and ".join(text for text, groups in kinds.items() if groups.any())

    @property
    def notes(self) -> tuple[str, ...]:
        """Return notes on the limits of p-values."""
        if self.log_count >= log(_SAID):
            return ()
        n_ways = round(exp(self.log_count))
        ways = count(n_ways, "way")
        are = agree(n_ways, "is", "are")
        return (
            f"there {are} only {ways} to shuffle the labels, so p-values cannot be below 1/{n_ways}; use more groups",
        )


def _log_arrangements(codes: Labels) -> float:
    counts = np.bincount(codes)
    return lgamma(len(codes) + 1) - sum(lgamma(count + 1) for count in counts)


def check_labelled(X: ArrayLike, y: ArrayLike, groups: ArrayLike | None, n: int, *, halved: bool = True) -> Labelled:
    """Check labels and groups; `halved` requires enough rows of each class for two halves."""
    codes, classes = check.labels(align_labels(X, y), n)
    check.require_few_classes(len(classes), n)
    names = tuple(str(label) for label in classes)
    group = np.arange(n)
    if groups is not None:
        group = check.labels(align_labels(X, groups, "groups"), n, "groups", min_classes=2)[0]
    labels = Labelled(codes, names, group, groups is not None)
    if halved:
        _require_two_halves(labels)
    return labels


def warn_of_dependence(rows: Matrix, labels: Labelled) -> None:
    """Warn if rows and labels depend on their neighbours, and no groups are declared."""
    if not labels.grouped and (signs := find_undeclared_dependence([rows], labels.codes)):
        warn(f"p-values may be too small: {signs}", CalibrationWarning)


def _require_two_halves(labelled: Labelled) -> None:
    """Require enough rows and groups of each class for two halves."""
    counts = np.bincount(labelled.codes)
    if counts.min() < _FEWEST:
        few = int(counts.argmin())
        raise ValueError(
            f"y must contain at least {_FEWEST} rows of each class, got {counts[few]} of {labelled.names[few]}"
        )
    for code, name in enumerate(labelled.names):
        n_groups = len(np.unique(labelled.group[labelled.codes == code]))
        if n_groups < 2:
            raise ValueError(
                f"groups must divide every class into at least 2 groups, one for each half, got 1 group for {name}; "
                "effects of group and class cannot be separated"
            )


def shuffle_count(n_draws: int) -> int:
    """Check the number of shuffles, which must be 0 or enough to reach the level of 0.05."""
    n_shuffles = check.count(n_draws, "n_draws", minimum=0)
    if 0 < n_shuffles < _FEWEST_DRAWS:
        raise ValueError(f"n_draws must be 0 or at least {_FEWEST_DRAWS}, got {n_shuffles}")
    return n_shuffles


def score_against_null(
    name: str, value: float, null: Vector, best: float | None, *, closer: str = "higher", **limits: Any
) -> Number:
    """Return a score with its values for shuffled labels, if there are any."""
    if not len(null):
        return Number(name=name, value=value, closer=closer, reason=NO_SHUFFLES, **limits)
    evidence = summarise(value, null, closer, ALPHA, best).evidence()
    return Number(name=name, value=value, closer=closer, **limits, **evidence)


def halves(y: ArrayLike, groups: ArrayLike | None = None, *, seed: Seed = None) -> tuple[Index, Index]:
    """Divide the rows into two disjoint halves of whole groups, with classes divided evenly.

    Compute predictors on one half and steer the other, so that no row (and no template) is used for both.

    Parameters
    ----------
    y : array of shape (n_samples,)
        Class labels, at least two classes with at least 4 rows each.
    groups : array of shape (n_samples,), optional
        Template, prompt, speaker or document of each row. The rows of a group stay in the same half.
    seed : int, Generator or None
        Seed for the random division; None draws a new one.

    Returns
    -------
    first, second : arrays of int
        Row numbers of each half, in increasing order. Both halves contain every class.

    Examples
    --------
    >>> a, b = halves([0, 0, 0, 0, 1, 1, 1, 1], groups=[1, 1, 2, 2, 3, 3, 4, 4], seed=0)
    >>> a.tolist(), b.tolist()
    ([0, 1, 4, 5], [2, 3, 6, 7])
    """
    classes = check.dense(y, "y")
    if classes.ndim != 1:
        raise ValueError(f"y must be 1-D, one label per row, got shape {classes.shape}")
    labels = check_labelled(y, y, groups, len(classes))
    first = labels.halves(labels.codes, generator(seed))
    return np.flatnonzero(first), np.flatnonzero(~first)
