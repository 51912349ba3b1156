"""Find classes that moved apart or closer together; decide by rules with known error rates whether they changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import factorial, prod
from typing import cast

import numpy as np
from scipy.stats import t

from shesha.inputs import validation as check
from shesha.kernels.condensed_matrices import square
from shesha.kernels.distances import Metric, condensed_distances
from shesha.nulls.null_summary import holm, max_statistic_p_values
from shesha.nulls.permutations import Design, draw_permutations
from shesha.results.diff import ENOUGH, ClassChange, Verdict
from shesha.results.number import TIE
from shesha.support.seeds import spawn
from shesha.support.types import Array, Index, Labels, Matrix, Seed, Vector
from shesha.views import Representation

UNCHANGED = 1e-9
"""Largest drift that counts as no change, because rounding may cause it; MiniLM re-encodes with 2e-11."""
REPLACED = 0.5
"""Drift above which a layer counts as replaced; unrelated geometries have a drift of 1."""
MARGIN = 2.0
"""Factor on the largest drift between a few re-encodings, because few of them underestimate the noise."""


def noise_limit(noise: Sequence[float]) -> float:
    """Return the limit that a change must exceed to count as more than noise.

    With at least 19 unchanged encodings, the limit is their largest drift, which a further unchanged encoding exceeds
    in at most one of 20 cases. With fewer, the limit is twice their largest drift.

    Examples
    --------
    >>> noise_limit([0.01, 0.03])
    0.06
    >>> noise_limit([0.03] * 19)
    0.03
    """
    known = [drift for drift in noise if np.isfinite(drift)]
    if not known:
        return float("nan")
    return max(known) * (1.0 if len(known) >= ENOUGH else MARGIN)


def judge(change: float, low: float, limit: float, replaced: float = REPLACED) -> Verdict:
    """Return the verdict on a layer, given the lower end of the interval of its change.

    A change above the limit whose interval contains the limit may be noise or not. With a limit so high that a replaced
    layer may not exceed it, the absence of a change cannot be shown either.

    Examples
    --------
    >>> [judge(change, 0.8 * change, limit=0.01) for change in (0.0, 0.009, 0.011, 0.1, 0.9)]
    ['unchanged', 'within noise', 'cannot decide', 'changed', 'replaced']
    >>> judge(0.3, 0.2, limit=0.7)
    'cannot decide'
    """
    if not (np.isfinite(change) and np.isfinite(limit)):
        return "not estimable"
    if replaced <= UNCHANGED:  # The measure saturates: unrelated rows would not differ either.
        return "cannot decide"
    if change <= UNCHANGED:
        return "unchanged"
    # Without an interval, compare the change itself with the limit.
    least = low if np.isfinite(low) else change
    if not least > limit:
        return "cannot decide" if change > limit or limit > replaced else "within noise"
    return "replaced" if least > replaced else "changed"


_MOST_CLASSES = 30
_LEAST_ROWS = 5
"""Minimum number of rows that a class must have to be compared."""
PERMUTATIONS = 999
METRIC: Metric = "cosine"
_FLIPPING = 53
Pairs = Sequence[tuple[Representation, Representation]]


@dataclass(frozen=True)
class ClassTest:
    """How movements of classes are tested."""

    level: float
    """Significance level of the corrected p-values."""
    groups: Labels | None = None
    """Group of each row, such as its donor; None if rows are independent."""
    blocks: Labels | None = None
    """Labels are permuted only within blocks."""
    seed: Seed = 0


def class_changes(
    before: Representation, after: Representation, unchanged: Pairs, codes: Labels, classes: list[str], test: ClassTest
) -> tuple[tuple[ClassChange, ...], str]:
    """Return the change in distance for each pair of classes and within each class, sorted by p-value, and a note.

    A change must be larger than with permuted labels, larger than other samples of rows (or groups) of each class
    explain, and larger than between encodings by an unchanged model. It must be so for the distances as they are and
    after division by a common factor, the median ratio of the distances of all pairs of classes. Otherwise, one class
    that moves would seem to move all others, or a common offset of all rows would seem to move all classes. Groups that
    contain several classes have a factor each, because an offset of a group changes distances within it alone.

    Parameters
    ----------
    before, after : Representation
        The same rows before and after the change.
    unchanged : sequence of pairs
        Pairs of encodings of the same rows that differ only by noise.
    codes : array of shape (n_rows,)
        Class of each row, as a code.
    classes : list of str
        Names of the classes, in the order of the codes.
    test : ClassTest
        Groups and blocks of rows, level and seed.
    """
    old, new = _distances(before), _distances(after)
    first, second = np.triu_indices(len(classes))
    starts, ends = (class_means(distances, codes)[first, second] for distances in (old, new))
    is_crossed = test.groups is not None and _is_crossed(test.groups, codes)
    matrices = (new - old, _divide_by_common_factor(old, new, codes, test.groups if is_crossed else None) - old)
    draws = _changes_under_sign_flips if is_crossed else _changes_under_permutation
    tested, note = draws(matrices, codes, classes, test)
    if not tested:
        return (), note
    found = list(map(_p_values, tested))
    if not is_crossed:
        # Permuted labels mix classes, whose distances vary less than those of single classes.
        found += [_p_values_of_samples(matrix, codes, test.groups) for matrix in matrices]
    p, corrected = (np.max(values, axis=0) for values in zip(*found, strict=True))
    moved = ends - starts
    # Only a movement in the same direction by both distances is one.
    is_ambiguous = np.sign(moved) != np.sign(class_means(matrices[1], codes)[first, second])
    p, corrected = (np.where(is_ambiguous, 1.0, values) for values in (p, corrected))
    limits = _limits(unchanged, codes)[first, second]
    significant = (corrected <= test.level) & ~(np.abs(moved) <= limits)
    changes = [
        ClassChange(
            first=classes[first[i]],
            second=classes[second[i]],
            before=float(starts[i]),
            after=float(ends[i]),
            p_value=float(p[i]),
            corrected_p_value=float(corrected[i]),
            limit=float(limits[i]),
            significant=bool(significant[i]),
        )
        for i in range(len(first))
    ]
    return tuple(sorted(changes, key=lambda change: (change.corrected_p_value, -abs(change.change)))), note


def _divide_by_common_factor(old: Matrix, new: Matrix, codes: Labels, groups: Labels | None) -> Matrix:
    """Return the new distances divided by the median ratio to the old ones, over all rows or within each group."""
    factors, units = np.ones(len(codes)), np.zeros_like(codes) if groups is None else groups
    for unit in np.unique(units):
        rows = np.flatnonzero(units == unit)
        starts, ends = (
            class_means(distances[np.ix_(rows, rows)], codes[rows])[np.triu_indices(codes[rows].max() + 1)]
            for distances in (old, new)
        )
        ratio = np.median(ends[starts > 0] / starts[starts > 0]) if (starts > 0).any() else 1.0
        factors[rows] = ratio if ratio > 0 else 1.0
    scaled: Matrix = new / np.sqrt(np.outer(factors, factors))
    return scaled


def _changes_under_permutation(
    matrices: Sequence[Matrix], codes: Labels, classes: list[str], test: ClassTest
) -> tuple[list[Matrix], str]:
    """Return the absolute changes of all pairs of classes, observed (first) and with permuted labels of rows or groups.

    If all rows of a group have one class, whole groups are relabelled.
    """
    units = np.arange(len(codes)) if test.groups is None else test.groups
    first_rows = np.unique(units, return_index=True)[1]
    blocks = None if test.blocks is None else test.blocks[first_rows]
    unit_codes, pairs = codes[first_rows], np.triu_indices(len(classes))
    note = ""
    if test.groups is not None:
        sizes = np.bincount(unit_codes)
        note, is_hopeless = _note_of_few_labellings(sizes, test.level) if blocks is None else ("", False)
        if is_hopeless:
            return [], note
    try:
        orders, _ = draw_permutations(
            len(unit_codes), PERMUTATIONS, test.level, design=cast(Design, {"blocks": blocks}), seed=test.seed
        )
    except ValueError as reason:
        return [], f"Movements of classes were not tested: {reason}."
    labellings = [codes, *(unit_codes[order][units] for order in orders)]
    return [np.abs([class_means(matrix, labelling)[pairs] for labelling in labellings]) for matrix in matrices], note


def _note_of_few_labellings(sizes: Index, level: float) -> tuple[str, bool]:
    """Return a note if too few groups have each class for a pair of classes to reach the level, and if none can."""
    n = factorial(int(sizes.sum())) // prod(factorial(int(size)) for size in sizes)
    same = 2 if len(sizes) == 2 and sizes[0] == sizes[1] else 1
    if same / n <= level:
        return "", False
    return (
        f"Whether classes moved cannot be decided: {int(sizes.sum())} groups can be labelled in {n} ways only, so p is "
        f"at least {same / n:.2g}."
    ), 1 / n > level


def _is_crossed(groups: Labels, codes: Labels) -> bool:
    """Whether a group has rows of several classes."""
    return len(np.unique(np.stack([groups, codes]), axis=1).T) > int(groups.max()) + 1


def _changes_under_sign_flips(
    matrices: Sequence[Matrix], codes: Labels, classes: list[str], test: ClassTest
) -> tuple[list[Matrix], str]:
    """Return the absolute mean changes over groups of all pairs of classes, observed and with random signs of groups.

    Each group gives one change per pair of classes, from distances within the group, relative to the group's mean over
    all its rows. Without an effect, each is as likely to be positive as negative.
    """
    assert test.groups is not None
    n_groups = int(test.groups.max()) + 1
    n_needed = int(np.ceil(np.log2(2 / test.level)))
    if n_groups < n_needed:
        return [], (
            f"Whether classes moved cannot be decided: with {n_groups} groups that contain several classes, p is at "
            f"least {2 / 2**n_groups:.2g} (at least {n_needed} groups are needed)."
        )
    signs = _signs(n_groups, test.seed)
    counts = np.zeros((n_groups, len(classes)))
    np.add.at(counts, (test.groups, codes), 1)
    first, second = np.triu_indices(len(classes))
    n_shared = ((counts[:, first] > (first == second)) & (counts[:, second] > 0)).sum(axis=0)
    n_few = int((n_shared < n_needed).sum())
    note = f"{n_few} of {len(first)} pairs of classes share fewer than {n_needed} groups, so they cannot be tested."
    return [
        _signed_means(matrix, codes, len(classes), test.groups, signs) for matrix in matrices
    ], note if n_few else ""


def _signs(n_groups: int, seed: Seed) -> Matrix:
    """Return rows of signs for the groups: the observed ones first, then all others, or a random sample of them."""
    if 2**n_groups <= PERMUTATIONS + 1:
        bits = (np.arange(2**n_groups)[:, None] >> np.arange(n_groups)) & 1
        return np.where(bits == 1, -1.0, 1.0)
    drawn = spawn(seed, _FLIPPING).choice([-1.0, 1.0], (PERMUTATIONS, n_groups))
    return np.vstack([np.ones(n_groups), drawn])


def _signed_means(matrix: Matrix, codes: Labels, n_classes: int, groups: Labels, signs: Matrix) -> Matrix:
    pairs = np.triu_indices(n_classes)
    n_groups = signs.shape[1]
    changes, means = np.full((n_groups, len(pairs[0])), np.nan), np.zeros(n_groups)
    for group in range(n_groups):
        rows = np.flatnonzero(groups == group)
        inside, own = matrix[np.ix_(rows, rows)], codes[rows]
        counts = np.bincount(own, minlength=n_classes)
        there = np.outer(counts, counts) - np.diag(counts)
        padded = np.zeros((n_classes, n_classes))
        found = class_means(inside, own)
        padded[: len(found), : len(found)] = found
        changes[group] = np.where(there > 0, padded, np.nan)[pairs]
        means[group] = inside.sum() / max(1, len(rows) * (len(rows) - 1))
    known = np.isfinite(changes)
    excess = np.where(known, changes - means[:, None], 0.0)
    result = np.abs(signs @ excess) / np.maximum(known.sum(axis=0), 1)
    # A pair that changed less than the average of all rows has not moved; the average has.
    average = (known * means[:, None]).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    is_still = np.abs(np.where(known, changes, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)) <= np.abs(average)
    result[0, is_still] = 0.0
    return np.asarray(result)


def _p_values(draws: Matrix) -> tuple[Vector, Vector]:
    """Return the p-value of each column, whose first entry is observed, and the one corrected for all columns."""
    # The tolerance prevents rounding errors from counting as a change.
    alone = (draws >= draws[0] - TIE).mean(axis=0)
    columns = list(draws.T)
    return alone, np.maximum(alone, max_statistic_p_values(columns, ["higher"] * len(columns)))


def _p_values_of_samples(matrix: Matrix, codes: Labels, groups: Labels | None) -> tuple[Vector, Vector]:
    """Return p-values of the mean change of each pair of classes for other samples of rows or groups, and by Holm.

    The variance is the jackknife's, with the units of each class as a sample of its own (Arvesen 1969), and the
    degrees of freedom are those of Welch and Satterthwaite.
    """
    units = np.arange(len(codes)) if groups is None else groups
    n_classes, n_units = int(codes.max()) + 1, int(units.max()) + 1
    member, unit_of_row = np.eye(n_classes)[codes], np.eye(n_units)[units]
    unit_codes = codes[np.unique(units, return_index=True)[1]]
    sizes, unit_sizes = member.sum(axis=0), unit_of_row.sum(axis=0)
    sums = member.T @ matrix @ member
    to_classes = unit_of_row.T @ matrix @ member
    inside = (unit_of_row.T @ matrix * unit_of_row.T).sum(axis=1)
    first, second = np.triu_indices(n_classes)
    same = first == second
    means = class_means(matrix, codes)[first, second]
    variances, weights = np.zeros((2, len(means)))
    for code in range(n_classes):
        own = np.flatnonzero(unit_codes == code)
        if len(own) < 2:
            continue
        there = np.flatnonzero((first == code) | (second == code))
        other = np.where(first[there] == code, second[there], first[there])
        rest = (sizes[code] - unit_sizes[own])[:, None]
        # Distances within a class are counted twice.
        without = sums[code, other] - np.where(same[there], 2.0, 1.0) * to_classes[own][:, other]
        without += np.where(same[there], 1.0, 0.0) * inside[own][:, None]
        n_pairs = np.where(same[there], rest * (rest - 1), rest * sizes[other])
        parts = without / np.maximum(n_pairs, 1)
        variance = (len(own) - 1) / len(own) * ((parts - parts.mean(axis=0)) ** 2).sum(axis=0)
        variances[there] += variance
        weights[there] += variance**2 / (len(own) - 1)
    few = np.bincount(unit_codes, minlength=n_classes) < 2
    with np.errstate(divide="ignore", invalid="ignore"):
        alone = 2 * t.sf(np.abs(means) / np.sqrt(variances), variances**2 / weights)
    alone = np.where(few[first] | few[second], 1.0, np.where(means == 0, 1.0, np.nan_to_num(alone, nan=0.0)))
    return alone, holm(alone)


def _limits(unchanged: Pairs, codes: Labels) -> Matrix:
    """Return the change of each pair of classes that noise alone may cause."""
    drifts = [np.abs(class_means(_distances(b) - _distances(a), codes)) for a, b in unchanged]
    n = int(codes.max()) + 1
    return np.array([[noise_limit([drift[i, j] for drift in drifts]) for j in range(n)] for i in range(n)])


def _distances(side: Representation) -> Matrix:
    rows = side.standard(METRIC)
    distances: Matrix = square(condensed_distances(rows, METRIC), len(rows))
    return distances


def class_means(distances: Matrix, codes: Labels) -> Matrix:
    """Return the mean distance between each two classes and within each, without self-distances.

    Examples
    --------
    >>> class_means(np.array([[0.0, 1.0, 3.0], [1.0, 0.0, 5.0], [3.0, 5.0, 0.0]]), np.array([0, 0, 1]))[0]
    array([1., 4.])
    """
    member = np.eye(int(codes.max()) + 1)[codes]
    sizes = member.sum(axis=0)
    pairs = np.outer(sizes, sizes) - np.diag(sizes)
    sums: Matrix = member.T @ distances @ member
    means: Matrix = sums / np.maximum(pairs, 1.0)
    return means


def comparable_classes(labels: Array, rows: Index) -> tuple[Index, Labels, list[str]] | None:
    """Return the rows in large enough classes, their codes, and the class names; None if not 2 to 30."""
    codes, names, large = _large_classes(labels, rows)
    if not 2 <= len(large) <= _MOST_CLASSES:
        return None
    chosen = np.flatnonzero(np.isin(codes, large))
    dense_codes: Labels = np.unique(codes[chosen], return_inverse=True)[1]
    return chosen, dense_codes, [str(names[code]) for code in large]


def note_of_classes(known: dict[str, Array], rows: Index) -> list[str]:
    """Return a note on why classes are not compared, or nothing if they are or if there are no labels."""
    if known.get("labels") is None:
        return []
    n_classes = len(_large_classes(known["labels"], rows)[2])
    if 2 <= n_classes <= _MOST_CLASSES:
        return []
    if n_classes > _MOST_CLASSES:
        return [
            f"Classes were not compared: the labels have {n_classes} classes of at least {_LEAST_ROWS} rows, more "
            f"than the limit of {_MOST_CLASSES}. Pass coarser labels."
        ]
    return [
        f"Classes were not compared: at least 2 must have {_LEAST_ROWS} rows or more, got {n_classes}. If the labels "
        "are numbers, divide them into classes first."
    ]


def _large_classes(labels: Array, rows: Index) -> tuple[Labels, Array, Index]:
    """Return the class code of each row, the class names, and the codes of large enough classes."""
    codes, names = check.labels(labels[rows], len(rows), "labels", min_classes=1)
    return codes, names, np.flatnonzero(np.bincount(codes) >= _LEAST_ROWS)
