"""Generalised Procrustes analysis: the shape that representations share, and how far each deviates."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import t

from shesha.comparison.engine import FEWEST_CLUSTERS, Evidence, interval, n_kept
from shesha.doubting import warn_of_pair_doubts
from shesha.inputs import MissingRows, RowChoice, labels_in_order, validation as check
from shesha.kernels import shapes as kernel
from shesha.kernels.rounding_and_scaling import length_unit
from shesha.kernels.shapes import triangular_factor
from shesha.kernels.threads import parallel, single_threaded_blas
from shesha.nulls.design_builder import exchange
from shesha.nulls.design_warnings import find_undeclared_dependence
from shesha.nulls.null_summary import draws_needed, holm, summarise
from shesha.nulls.restricted_permutations import Exchange
from shesha.results.base import reaches_level
from shesha.results.consensus import Consensus, Member
from shesha.support import memory, types as kinds
from shesha.support.progress import best_answer, collect, track
from shesha.support.provenance import keep_statements, state_warning
from shesha.support.seeds import ALPHA, CONFIDENCE, number, spawn
from shesha.support.types import Array, Index, Matrix, Seed, Vector
from shesha.support.warnings import CalibrationWarning, warn
from shesha.support.wording import join_items
from shesha.views import align_rows, check_named_arrays, hint_of_distances, select_rows

_FEWEST = 3
_FEW = 5
_LARGEST = float(np.sqrt(2))
_PERMUTING, _MATCHING, _SHARED_STEPS = 13, 14, 2
_MATCHINGS = 19
"""Number of random permutations of the rows of an outlier, none of which may be as close to the others."""
_COPIES, _ROTATIONS = 2, 18
"""Copies of all shapes that a draw makes or keeps, and of their rotations in a search with quasi-Newton steps."""
_PANEL = 1024
"""Rows that are copied at a time."""
_REMAINING = 0.1
"""Share of the variation of all rows from which sums over the remaining rows may be computed by subtraction."""
_TIE = 1e-9
"""Share of the observed length by which a draw must be shorter to be certainly no tie."""
_WIDE = 512
"""Coordinates from which a distance between two shapes takes so long that the threads share the distances."""
_SMALLEST = 1e-6
"""Distance below which two shapes are equal up to rounding."""


@keep_statements
def consensus(
    representations: Mapping[str, ArrayLike],
    *,
    scale: bool = True,
    groups: ArrayLike | None = None,
    alpha: float = ALPHA,
    confidence: float = CONFIDENCE,
    rows: RowChoice = "same",
    missing: MissingRows = "refuse",
    seed: Seed = 0,
) -> Consensus:
    """Measure how far each representation deviates from the shape shared by the others, and find outliers.

    Use it to see whether seeds, checkpoints or subjects agree, and which one deviates. The shared shape is the Fréchet
    mean of the shapes under rotations and reflections (generalised Procrustes analysis); `shesha.mean_shape` returns
    it.

    Parameters
    ----------
    representations : mapping of str to array of shape (n_samples, n_features)
        At least 3 representations of the same rows. If widths differ, narrower ones are padded with zero columns.
    scale : bool
        Whether to scale all representations to the same size before averaging. Otherwise, larger ones have more weight.
        Distances are always computed between shapes of equal size.
    groups : array of shape (n_samples,), optional
        Labels of groups, such as donors or documents. Intervals leave out whole groups. Default: independent rows.
    alpha : float
        Significance level of the corrected outlier p-values, in (0, 1).
    confidence : float
        Confidence level of the intervals, in (0, 1). They describe the variation over samples of rows.
    rows, missing
        As for `compare`.
    seed : int, Generator or None
        Seed of the random subsets of the rows.

    Returns
    -------
    Consensus
        The result prints its main answer first. ``.outlying`` names the outliers, and ``["name"].distance`` is the
        distance of a representation from the mean shape of the others.

    Notes
    -----
    Outliers are found by a one-sided Grubbs test on the logarithms of the distances, with Holm's correction. The
    test compares each distance with the mean and the spread of the other distances. To this spread, it adds the
    variance of the distance over samples of rows, as far as it exceeds that of the others. A representation in which
    a few rows are far away, as with heavy-tailed noise, is thus no outlier. Two similar outliers can mask each other.
    Copies of a representation (equal up to rotation, scale and rounding) count once, and have its values.

    Whether the representations share anything is tested by permuting the rows of each of them.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.standard_normal((60, 5))
    >>> seeds = {f"seed {k}": truth + 0.3 * rng.standard_normal((60, 5)) for k in range(6)}
    >>> found = consensus({**seeds, "broken": rng.standard_normal((60, 5))})
    >>> found.outlying
    ('broken',)
    """
    check.boolean(scale, "scale")
    check.fraction(alpha, "alpha", closed=False)
    check.fraction(confidence, "confidence", closed=False)
    along = {"groups": groups}
    representations, along = select_rows(
        kinds.mapping(representations, "representations"), along, rows=rows, missing=missing, need=_bytes, seed=seed
    )
    configurations, width, design = _configurations(representations, along["groups"], scale)
    row_exchange = exchange(len(next(iter(configurations.values()))), **design)
    if groups is None and (signs := find_undeclared_dependence(list(configurations.values()))):
        warn(f"what all share may be their order, and intervals too narrow: {signs}", CalibrationWarning)
    _state_checkpoints(tuple(configurations))
    evidence = Evidence.draw_subsets(row_exchange, alpha, confidence, seed)
    copies = kernel.find_copies(configurations)
    n_different = len(configurations) - len(copies)
    names = [name for name in configurations if n_different < _FEWEST or name not in copies]
    # Only one copy of each shape is held.
    shapes = [configurations.pop(name) for name in names]
    for shape in shapes if scale else ():
        shape /= np.linalg.norm(shape)
    with single_threaded_blas():
        product = kernel.product_with_rotated(shapes)
        latest: list[Array] = []

        def watched(rotations: Array, some: Sequence[int] | None = None) -> Array:
            if some is None:
                latest[:] = [rotations]
            return product(rotations, some)

        with best_answer(lambda: _describe_distances(names, *(_distances_to_mean(shapes, at) for at in latest))):
            rotations, n_steps, converged = kernel.rotations_onto_mean(watched, kernel.first_pulls(shapes))
            to_all = _distances_to_mean(shapes, rotations)
        with best_answer(lambda: _describe_distances(names, to_all)):
            distances, ends, errors = _distances_to_others(shapes, product, rotations, evidence, row_exchange.clusters)
        with best_answer(lambda: _describe_distances(names, distances)):
            shared_p_value, interrupted = _shared_p_value(shapes, row_exchange, alpha, seed, unit=not scale)
    # Distances are skewed to the right, so testing them directly would find too many outliers; their logarithms are
    # nearly symmetric.
    p_values = outlier_p_values(np.log(np.maximum(distances, _SMALLEST)), errors)
    if n_different < _FEWEST:
        p_values[:] = np.nan
    corrected = holm(p_values)
    outlying = [k for k, p_value in enumerate(corrected.tolist()) if reaches_level(p_value, alpha)]
    with single_threaded_blas():
        pulls = product(rotations) if outlying else rotations
        unmatched = tuple(
            names[k]
            for k in outlying
            if not _matches_rows(_pair_with_others(shapes, product, pulls, k), row_exchange, seed)
        )
    fields = ("name", "value", "low", "high", "distance_to_all", "p_value", "corrected_p_value")
    columns = (distances, *zip(*ends, strict=True), to_all, p_values, corrected)
    members = [
        Member(closer="lower", **dict(zip(fields, [name, *map(float, values)], strict=True)))
        for name, *values in zip(names, *columns, strict=True)
    ]
    members += [replace(members[names.index(copies[name])], name=name) for name in copies if name not in names]
    return Consensus(
        tuple(sorted(members, key=lambda member: member.value)),
        float(np.sqrt(np.mean(np.square(to_all)))),
        row_exchange.n_rows,
        n_features=width,
        scale=scale,
        alpha=alpha,
        confidence=confidence,
        n_iterations=n_steps,
        converged=converged,
        notes=_notes(n_different, converged, evidence),
        seed=number(seed),
        n_groups=evidence.n_clusters,
        shared_p_value=shared_p_value,
        interrupted=interrupted,
        copies=copies,
        unmatched=unmatched,
    )


def mean_shape(representations: Mapping[str, ArrayLike], *, scale: bool = True) -> Matrix:
    """Mean shape of several representations of the same rows, up to rotation (generalised Procrustes).

    Parameters
    ----------
    representations, scale
        As for `shesha.consensus`.

    Returns
    -------
    array of shape (n_samples, n_features)
        The centred mean shape, in the coordinates of its principal axes. It has as many columns as the widest
        representation, but at most as many as there are rows.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((30, 4))
    >>> found = mean_shape({"a": X, "b": X[:, ::-1], "c": -X})
    >>> round(float(np.linalg.norm(found)), 6), found.shape
    (1.0, (30, 4))
    """
    check.boolean(scale, "scale")
    configurations, _, _ = _configurations(representations, None, scale)
    with single_threaded_blas():
        mean, _, _ = kernel.mean_shape([_unit(shape) if scale else shape for shape in configurations.values()])
        u, values, _ = np.linalg.svd(mean, full_matrices=False)
    shape: Matrix = u * values
    return shape


def _distances_to_mean(shapes: Sequence[Matrix], rotations: Array) -> list[float]:
    """Return the distance of each shape from the mean of all after their rotations."""
    mean = kernel.mean_of_rotated(shapes, rotations)
    return [_sum_rows(shape, mean).distance() for shape in shapes]


def _describe_distances(names: Sequence[str], distances: Sequence[float] = ()) -> str:
    """Return which representations are nearest and farthest so far, for the progress; empty before the first step."""
    if not distances:
        return ""
    (near, nearest), *_, (far, farthest) = sorted(zip(names, distances, strict=True), key=lambda one: one[1])
    return f"distances from the mean so far: {nearest:.3g} ({near}) to {farthest:.3g} ({far})"


def outlier_p_values(distances: Vector, errors: Vector | None = None) -> Vector:
    """Return one-sided p-values of the Grubbs test (1950) for whether a distance exceeds the others.

    The variance of a distance over samples of rows counts as far as it exceeds the median of the others.
    """
    n = len(distances)
    p_values = np.empty(n)
    for k, distance in enumerate(distances):
        others = np.delete(distances, k)
        # If the other distances are equal up to rounding, their spread says nothing, so a minimum is used.
        spread = max(float(others.std(ddof=1)), 1e-9)
        variance = spread**2 * (1 + 1 / (n - 1))
        if errors is not None:
            variance += max(0.0, float(errors[k] ** 2 - np.median(np.delete(errors, k) ** 2)))
        p_values[k] = t.sf((distance - others.mean()) / np.sqrt(variance), n - 2)
    return p_values


def _configurations(
    representations: Mapping[str, ArrayLike], groups: ArrayLike | None, scale: bool
) -> tuple[dict[str, Matrix], int, Any]:
    """Return centred rows, padded to one width; columns beyond the number of rows are rotated away."""
    hint_of_distances(kinds.mapping(representations, "representations"))
    named = check_named_arrays(representations, "representations", "representations[{!r}]")
    if len(named) < _FEWEST:
        raise ValueError(f"representations must be at least {_FEWEST}, got {len(named)}")
    design = labels_in_order((source.names for source in named.values()), {"groups": groups})
    aligned = {name: source.to_numpy for name, source in align_rows(named).items()}
    first = next(iter(aligned.values()))
    for name, representation in aligned.items():
        if representation.has_distances_only or len(representation.shape) > 2:
            got = "distances" if representation.has_distances_only else f"shape {representation.shape}"
            raise ValueError(f"representations[{name!r}] must be features of shape (n_samples, n_features), got {got}")
        if representation.n_rows != first.n_rows:
            raise ValueError(f"representations[{name!r}] must have {first.n_rows} rows, got {representation.n_rows}")
    # Copies are listed in the answer.
    any(warn_of_pair_doubts(dict(pair), but=("copies",)) for pair in pairwise(aligned.items()))
    # Columns beyond the number of rows are rotated away.
    _require_memory(len(aligned), first.n_rows, max(min(source.shape) for source in aligned.values()))
    units = {name: length_unit(source.rows) for name, source in aligned.items()}
    # Distances between shapes do not depend on the unit, so rows of any scale are brought near 1.
    short = {
        name: _centred_shape(source.rows, units[name] if scale else max(units.values()), name)
        for name, source in aligned.items()
    }
    width = max(matrix.shape[1] for matrix in short.values())
    for name, matrix in short.items():
        if matrix.shape[1] < width:
            short[name] = np.pad(matrix, ((0, 0), (0, width - matrix.shape[1])))
    return short, max(source.shape[1] for source in aligned.values()), design


_CHECKPOINT = re.compile(r"(step|epoch|iter(ation)?|ckpt|checkpoint|update)s?[-_=. ]*\d+", re.IGNORECASE)


def _state_checkpoints(names: Sequence[str]) -> None:
    """Warn in the result if some of the members are named like checkpoints of one run, and others are of other runs."""
    runs: dict[str, list[str]] = {}
    for name in names:
        runs.setdefault(_CHECKPOINT.sub("", name), []).append(name)
    largest = max(runs.values(), key=len)
    if 1 < len(largest) < len(names):
        state_warning(
            f"{join_items(largest)} are named like checkpoints of one run, which are more alike than runs are, so "
            "outliers among them and other runs mean little; pass one checkpoint of each run, or one run alone"
        )


def _centred_shape(rows: Matrix, unit: float, name: str) -> Matrix:
    """Return centred rows in a unit; columns beyond the number of rows are rotated away, in the same memory."""
    centred = rows / unit
    largest = max(float(centred.max()), -float(centred.min()))
    centred -= centred.mean(axis=0)
    if not np.linalg.norm(centred) > 1e-12 * largest:
        raise ValueError(f"representations[{name!r}] must have rows that differ, got equal rows")
    return triangular_factor(centred)


def _unit(rows: Matrix) -> Matrix:
    scaled: Matrix = rows / np.linalg.norm(rows)
    return scaled


Pair = tuple[Matrix, Matrix]
"""Rows of two shapes."""


@dataclass(frozen=True)
class _Sums:
    """Sums over rows of two shapes, from which their Procrustes distance follows."""

    n_rows: int
    totals: Matrix
    product: Matrix
    squares: Vector

    @classmethod
    def build(cls, pair: Pair, places: Index, origins: Sequence[Vector | float] = (0.0, 0.0)) -> _Sums:
        """Return the sums over some rows, measured from the origins; a panel of rows is copied at a time."""
        width = pair[0].shape[1]
        totals, product, squares = np.zeros((2, width)), np.zeros((width, width)), np.zeros(2)
        for start in range(0, len(places), _PANEL):
            panel = places[start : start + _PANEL]
            first, second = (shape[panel] - origin for shape, origin in zip(pair, origins, strict=True))
            totals += first.sum(axis=0), second.sum(axis=0)
            product += first.T @ second
            squares += np.vdot(first, first), np.vdot(second, second)
        return cls(len(places), totals, product, squares)

    def without(self, pair: Pair, places: Index) -> _Sums:
        """Return the sums over the rows that remain, by subtraction unless they contain too little of the whole."""
        part = _Sums.build(pair, places)
        rest = _Sums(
            self.n_rows - part.n_rows,
            self.totals - part.totals,
            self.product - part.product,
            self.squares - part.squares,
        )
        if (rest.variation() >= _REMAINING * self.variation()).all():
            return rest
        kept = np.setdiff1d(np.arange(self.n_rows), places)
        return _Sums.build(pair, kept, [shape[kept].mean(axis=0) for shape in pair])

    def variation(self) -> Vector:
        """Return the sum of the squared distances of the rows from their mean, for both shapes."""
        return np.asarray(self.squares - (self.totals**2).sum(axis=1) / max(1, self.n_rows))

    def distance(self) -> float:
        """Return the distance after centring both shapes and scaling them to unit size; NaN if one has no size."""
        lengths = float(np.sqrt(np.maximum(self.variation(), 0.0)).prod())
        if not lengths > 0:
            return float("nan")
        product = self.product - np.outer(*self.totals) / self.n_rows
        closeness = kernel.sum_of_singular_values(product)
        return float(np.sqrt(max(0.0, 2.0 - 2.0 * min(1.0, closeness / lengths))))


def _sum_rows(*pair: Matrix) -> _Sums:
    """Return the sums over all rows."""
    return _Sums.build(pair, np.arange(len(pair[0])))  # type: ignore[arg-type]


def _distances_to_others(
    shapes: Sequence[Matrix], product: kernel.Product, first: Array, evidence: Evidence, clusters: Index
) -> tuple[list[float], list[tuple[float, float]], Vector]:
    """Return each shape's distance from the mean shape of the others, its interval, and the error of its logarithm.

    The rotations of the others are searched for from the mean after the first rotations, those of all shapes.
    """
    pulls = product(first)

    def distance(k: int) -> tuple[float, tuple[float, float], float]:
        pair = _pair_with_others(shapes, product, pulls, k)
        sums = _sum_rows(*pair)
        value = sums.distance()
        return value, _interval(pair, sums, value, evidence), _error_of_logarithm(pair, sums, clusters)

    # If shapes are wide, the threads share the work on each of them, because there may be only three.
    at_once = 1 if shapes[0].shape[1] >= _WIDE else _count_threads(shapes)
    found = list(track(parallel(distance, range(len(shapes)), at_once=at_once), len(shapes), "representations"))
    values, ends, errors = zip(*found, strict=True)
    return list(values), list(ends), np.array(errors)


def _pair_with_others(shapes: Sequence[Matrix], product: kernel.Product, pulls: Array, k: int) -> Pair:
    """Return a shape and the mean shape of the others."""
    rotations, _, _ = kernel.rotations_onto_mean(kernel.product_of_others(product, k), np.delete(pulls, k, axis=0))
    return shapes[k], kernel.mean_of_rotated([*shapes[:k], *shapes[k + 1 :]], rotations)


def _matches_rows(pair: Pair, design: Exchange, seed: Seed) -> bool:
    """Return whether two shapes are closer than after random permutations of the rows of one."""
    rng = spawn(seed, _MATCHING)
    rows, others = pair
    value = _sum_rows(rows, others).distance()
    return all(value < _sum_rows(rows[design.draw(rng)], others).distance() for _ in range(_MATCHINGS))


def _bytes(shapes: Sequence[tuple[int, int]]) -> int:
    """Return the memory for shapes with their copies, rotations and the steps of the search."""
    n, width = shapes[0][0], max(min(shape) for shape in shapes)
    return 8 * len(shapes) * max(_COPIES * n * width, n * width + _ROTATIONS * width**2)


def _require_memory(k: int, n: int, width: int) -> None:
    """Refuse shapes that exceed the memory budget."""
    need = _bytes([(n, width)] * k)
    what = f"the mean shape of {k} representations of {n:,} rows in {width:,} coordinates"
    memory.require(need, what, "pass fewer rows, or the leading principal components")


def _count_threads(shapes: Sequence[Matrix]) -> int:
    """Return the number of threads whose copies of the shapes fit the memory budget."""
    return max(1, memory.memory_budget() // (_COPIES * sum(shape.nbytes for shape in shapes)))


def _shared_p_value(
    shapes: Sequence[Matrix], design: Exchange, alpha: float, seed: Seed, *, unit: bool
) -> tuple[float, bool]:
    """Return the p-value that the shapes share anything: their mean is longer than after permutations of rows.

    Each draw permutes the rows of all but the first shape independently. NaN if the design has too few permutations, or
    if Ctrl-C ended the draws early, which the second return value tells.
    """
    if design.log_count < np.log(1 / alpha) - 1e-9:
        return float("nan"), False
    rng = spawn(seed, _PERMUTING)
    same = np.arange(design.n_rows)
    n_draws = draws_needed(1, alpha)
    orders = [[same, *(design.draw(rng) for _ in shapes[1:])] for _ in range(n_draws)]

    observed = kernel.norm_of_rough_mean(shapes, _SHARED_STEPS, [same] * len(shapes), unit=unit)

    def shared(orders: Sequence[Index]) -> float:
        # Draws that are certainly shorter need not be computed completely.
        return kernel.norm_of_rough_mean(shapes, _SHARED_STEPS, orders, unit=unit, beyond=observed * (1 - _TIE))

    lengths, interrupted = collect(parallel(shared, orders, at_once=_count_threads(shapes)), n_draws, "permutations")
    if interrupted:
        return float("nan"), True
    return summarise(observed, np.array(lengths), "higher", alpha, None).p_value, False


def _interval(pair: Pair, sums: _Sums, value: float, evidence: Evidence) -> tuple[float, float]:
    """Return the interval of a distance from subsets of the rows, with a fixed mean of the others."""
    n = evidence.n_clusters or evidence.n_rows
    unknown = float("nan"), float("nan")
    if evidence.n_clusters is not None and evidence.n_clusters < FEWEST_CLUSTERS:
        return unknown
    every = np.arange(sums.n_rows)
    left_out = [np.setdiff1d(every, subset, assume_unique=True) for subset in evidence.subsets]
    distances = np.array(_distances_without(pair, sums, left_out))
    if not np.isfinite(distances).all():
        return unknown
    clustered = evidence.n_clusters is not None
    return interval(value, distances, (n_kept(n), n), evidence.confidence, (0.0, _LARGEST), clustered=clustered)


def _distances_without(pair: Pair, sums: _Sums, left_out: Sequence[Index]) -> list[float]:
    """Return the distance between two shapes without some of their rows, for each choice of rows."""
    at_once = None if len(sums.product) >= _WIDE else 1
    return list(parallel(lambda places: sums.without(pair, places).distance(), left_out, at_once=at_once))


_EXACT = 20
"""Number of rows (or clusters) whose influence on a distance is computed by leaving them out."""


def _error_of_logarithm(pair: Pair, sums: _Sums, clusters: Index) -> float:
    """Return the jackknife error, over samples of rows, of the logarithm of the distance between two centred shapes.

    To first order, the best rotation does not change without a row. The row's influence on the squared distance is then
    what it adds to the inner product and to the squared lengths. The rows with the largest influence are left out
    exactly, because a few of them dominate heavy-tailed shapes. Rows of a cluster are left out together.
    """
    rows, target = pair
    lengths = float(np.linalg.norm(rows)), float(np.linalg.norm(target))
    if not min(lengths) > 0:
        return 0.0
    products = np.einsum("ij,ij->i", kernel.rotate_onto(rows, target), target) / math.prod(lengths)
    squares = sum(np.einsum("ij,ij->i", x, x) / length**2 for x, length in zip((rows, target), lengths, strict=True))
    closeness = min(1.0, float(products.sum()))
    squared_distance = 2 - 2 * closeness
    if squared_distance <= _SMALLEST**2:
        return 0.0
    changes = np.bincount(clusters, 2 * products - closeness * squares) / (2 * squared_distance)
    n = len(changes)
    largest = np.argsort(-np.abs(changes), kind="stable")[: min(_EXACT, n - 1)]
    left_out = [np.flatnonzero(clusters == cluster) for cluster in largest]
    for cluster, without in zip(largest, _distances_without(pair, sums, left_out), strict=True):
        if without > 0:
            changes[cluster] = math.log(without) - math.log(squared_distance) / 2
    return float(np.linalg.norm(changes - changes.mean()) * math.sqrt((n - 1) / n))


def _notes(n_members: int, converged: bool, evidence: Evidence) -> tuple[str, ...]:
    notes = []
    if n_members < _FEW:
        notes.append(
            f"With only {n_members} representations, an outlier can hardly be distinguished from the spread. Add seeds "
            "or models."
        )
    if not converged:
        notes.append("The mean shape did not converge, so distances may be slightly too large. Use fewer features.")
    if evidence.n_clusters is not None and evidence.n_clusters < FEWEST_CLUSTERS:
        notes.append(f"No intervals: an interval needs at least {FEWEST_CLUSTERS} groups, got {evidence.n_clusters}.")
    return tuple(notes)
