"""Doubts about two representations of the same rows, and about a rare cluster that determines a score."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.linalg import norm

from shesha.doubting.doubt_input import SOME, Subject, doubt, on_each_side
from shesha.doubting.feature_doubts import foreign_features, list_features
from shesha.doubting.row_doubts import COUNTS_ADVICE, FEW_ROWS_ADVICE, far_rows_first, normalise_counts
from shesha.doubting.row_lengths import describe_changes
from shesha.inputs import find_row_order
from shesha.kernels.rounding_and_scaling import safe_unit
from shesha.nulls.dependence import joint_hashes
from shesha.results import Doubt
from shesha.support.types import Index, Matrix, Vector
from shesha.support.warnings import NotEstimable
from shesha.support.wording import join_items
from shesha.views import Gram, Representation

_DIGITS = 1e-6
"""If a subtraction leaves less than this share of a sum of squares, the difference is imprecise."""


def linear_cka(grams: Sequence[Matrix], kept: Index) -> float:
    """Return the linear CKA of the given rows, in their order, from the inner products of all rows."""
    everything = len(kept) == len(grams[0])
    first, second = (_centre(gram.copy() if everything else gram.take(kept, 0).take(kept, 1)) for gram in grams)
    length = float(norm(first) * norm(second))
    return float(np.vdot(first, second)) / length if length > 0 else 0.0


def cka_without_each(grams: Sequence[Matrix], n_first: int) -> tuple[float, list[float]]:
    """Return the linear CKA of all rows, and without each of the first `n_first` rows in turn.

    Leaving out row i of n centred rows changes their cross-products by n / (n - 1) times the product of its entries.
    """
    first, second = (_centre(gram.copy()) for gram in grams)
    times = len(first) / (len(first) - 1)

    def row_deleted_products(first: Matrix, other: Matrix) -> tuple[Vector, float]:
        every = np.einsum("ij,ij->i", first, other)
        squares = np.diagonal(first)[:n_first] * np.diagonal(other)[:n_first]
        total = float(every.sum())
        return total - 2 * times * every[:n_first] + times**2 * squares, total

    (both, full_sum), *parts = (
        row_deleted_products(first, second),
        row_deleted_products(first, first),
        row_deleted_products(second, second),
    )
    rest, totals = np.stack([lengths for lengths, _ in parts]), np.array([total for _, total in parts])
    # If a row contributes nearly all of a sum, what remains is rounding error, so CKA is recomputed without this row.
    digits = np.all(rest > _DIGITS * totals[:, None], axis=0)
    scores = both / np.sqrt(np.where(digits, rest, 1.0).prod(axis=0))
    every = np.arange(len(first))
    each = [
        float(score) if precise else linear_cka(grams, np.delete(every, place))
        for place, (score, precise) in enumerate(zip(scores, digits.tolist(), strict=True))
    ]
    return full_sum / float(np.sqrt(totals.prod())) if totals.all() else 0.0, each


def _centre(gram: Matrix) -> Matrix:
    """Return the inner products of the rows after their mean is subtracted; changes `gram` in place."""
    means = gram.mean(axis=0)
    gram -= means
    gram -= (means - means.mean())[:, None]
    return gram


_HALF = 0.5
"""Smallest share of a score that a cluster must explain to be reported."""
_LEAST_SCORE = 0.1
"""Smallest score for which a doubt is raised."""
_MOVED = 0.2
"""A cluster is reported if CKA changes by at least this much when it is left out."""
_RARE = 0.2
"""Largest share of the rows that a rare cluster may contain."""
_FEWEST_OTHERS = 12
_ADVICE = (
    "If the cluster is real (a rare cell type, a rare class), keep it, pass it as labels, and report the "
    "score with and without it. If it is technical (doublets, a failed batch), leave it out. Do not "
    "control for row scale, which would remove a real cluster"
)


@dataclass(frozen=True)
class ClusterShare:
    """How much of a score a rare cluster explains."""

    score: str
    whole: float
    without: float
    effect: float


@doubt("rare cluster")
def rare_cluster(subject: Subject) -> Doubt | None:
    """Check whether a few rows that lie together determine the score, or the covariance of all rows."""
    rare = rare_rows(subject.clusters(0))
    if not rare.any():
        return None
    results = [_split_similarity(subject, subject.places[~rare]), _covariance_similarity(subject.sample, rare)]
    return _name_cluster(subject, rare, [result for result in results if result is not None])


@doubt("rare cluster", of="pair", cheap=True)
def shared_rare_cluster(subject: Subject) -> Doubt | None:
    """Check whether a few rows that lie together make two representations similar."""
    rare = rare_rows(subject.clusters(0))
    if rare.any():
        rare &= rare_rows(subject.clusters(1))
    if not rare.any():
        return None
    grams = [subject.products(side, subject.places) for side in range(2)]
    full_score, without = (linear_cka(grams, np.flatnonzero(row_mask)) for row_mask in (rare | True, ~rare))
    carried = ClusterShare("CKA", full_score, without, min(1.0, abs(full_score - without)))
    return _name_cluster(subject, rare, [carried] if carried.effect >= _MOVED else [])


def rare_rows(labels: Index) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return which rows lie outside the largest cluster, if these are few; otherwise none."""
    outside = labels != np.bincount(labels).argmax()
    few = outside.mean() <= _RARE and (~outside).sum() >= _FEWEST_OTHERS
    return np.asarray(outside & few)


def _split_similarity(subject: Subject, others: Index) -> ClusterShare | None:
    headline = subject.headline
    if headline.value < _LEAST_SCORE:
        return None
    try:
        without = subject.split(subject.read(0, others)).value
    except NotEstimable:
        without = 0.0
    effect = headline.value - max(0.0, without)
    return ClusterShare(headline.name, headline.value, without, effect) if effect >= _HALF * headline.value else None


def _covariance_similarity(sample: Matrix, rare: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> ClusterShare | None:
    """Return how similar the covariance of all rows is to that of the rows outside the cluster."""
    every, others = sample - sample.mean(axis=0), sample[~rare] - sample[~rare].mean(axis=0)
    lengths = [float(norm(matrix @ matrix.T)) for matrix in (every, others)]
    similarity = float(norm(every @ others.T)) ** 2 / max(lengths[0] * lengths[1], 1e-300)
    return (
        ClusterShare("the similarity to the covariance of the other rows", similarity, 1.0, 1 - similarity)
        if similarity <= _HALF
        else None
    )


def _name_cluster(
    subject: Subject, rare: np.ndarray[tuple[int], np.dtype[np.bool_]], results: list[ClusterShare]
) -> Doubt | None:
    if not results:
        return None
    most = max(results, key=lambda result: result.effect)
    rows = subject.caller_rows(subject.places[rare])
    return cluster_doubt(most.score, rows, most.whole, most.without, most.effect)


def cluster_doubt(measure: str, rows: tuple[int, ...], whole: float, without: float, effect: float) -> Doubt:
    """Return the doubt that a rare cluster determines a score."""
    text = (
        f"{len(rows):,} of the checked rows form a cluster far from all other rows. With the cluster, {measure} is "
        f"{whole:.2f}; without it, {without:.2f}"
    )
    return Doubt("rare cluster", min(1.0, effect), None, text, advice=_ADVICE, rows=rows)


_MOSTLY, _LEAST_CHANCE = 0.5, 0.1
"""Share of CKA, and absolute value, that the chance level of CKA must reach to raise a doubt."""
_FEATURES_ADVICE = (
    "Check these features, which may be no features (such as identifiers, counts or times). Leave them out or "
    "standardise all features, and report this choice"
)
_AXES_ADVICE = (
    "They are the first axes of decreasing variance, as of principal components or a spectral embedding: keep them, "
    "and report that the score is theirs"
)
_FEWEST_AXES, _DECREASING = 5, 1.2
"""Fewest axes that are recognised by their variances, and largest ratio of the variance of one to that before it."""
_SAME = 1e-12
"""Largest value of 1 - CKA between copies; rounding to single precision changes CKA by about 1e-14."""
_PARALLEL = 1e-5
"""Largest value of 1 - cosine between rows of the same direction, which rounding to half precision causes."""
_ROUNDED = 0.02
"""Largest change of a row, as a share of its length, that other batches or half precision cause."""
_SATURATED = 0.02
"""A measure saturates if its null mean is this close to perfect agreement, as a share of its range."""


@doubt("copies", of="pair", cheap=True)
def copies(subject: Subject) -> Doubt | None:
    """Check whether both representations are the same data, perhaps rotated, shifted or rescaled."""
    grams = [subject.products(side, subject.places) for side in range(2)]
    first, second = subject.samples
    if not 1 - linear_cka(grams, np.arange(len(subject.places))) < _SAME:
        return None
    # A single far row can hide all others.
    rows, n_far = far_rows_first(subject)
    others = [subject.centred_products(side, np.sort(rows[n_far:])) for side in range(2)]
    if n_far and not 1 - linear_cka(others, np.arange(len(rows) - n_far)) < _SAME:
        return None
    unit, other = subject.units
    if first.shape == second.shape and all(
        np.array_equal(a * unit, b * other) for a, b in zip(first, second, strict=True)
    ):
        text = "both representations contain the same values"
    else:
        text = "each representation is a rotated, shifted or rescaled copy of the other"
    advice = "Check that two different files or layers were compared: copies are always similar"
    return Doubt("copies", 1.0, None, text, advice)


@doubt("equal rows", of="pair", cheap=True)
def equal_rows(subject: Subject) -> Doubt | None:
    """Check whether some rows are exactly equal on both sides, and others differ by more than rounding."""
    (first, second), (unit, other) = subject.samples, subject.units
    if first.shape != second.shape:
        return None
    # Rows of few whole numbers are equal by chance.
    equal = np.array(
        [
            a[0] * unit == b[0] * other and np.array_equal(a * unit, b * other) and bool((a * unit % 1 != 0).any())
            for a, b in zip(first, second, strict=True)
        ]
    )
    share = float(equal.mean())
    if not SOME <= share <= 1 - SOME:
        return None
    # Some rows are equal, so the units are similar.
    ratio = other / unit
    differ = [norm(a - b * ratio) > _ROUNDED * norm(a) for a, b in zip(first, second, strict=True)]
    if np.mean(differ) < SOME:
        return None
    rows = subject.caller_rows(subject.places[equal])
    # Moved rows are named where rows are matched.
    if find_row_order(*(side.sample for side in subject.sides)).moved:
        return None
    text = (
        f"{len(rows):,} of {len(equal):,} checked rows are exactly equal in {' and '.join(subject.names)} (such as "
        f"{join_items(rows)}) and the others are not, as if only some rows had been encoded again"
    )
    advice = "Encode all rows in the same way, or compare the changed rows only"
    return Doubt("equal rows", min(share, 1 - share), None, text, advice=advice, rows=rows)


@doubt("repeated rows", of="pair", cheap=True)
@on_each_side
def repeated_rows(subject: Subject, side: int) -> Doubt | None:
    """Check whether rows of one side repeat, such as an image with several captions, and those of the other do not."""
    n_rows = len(subject.places)
    n_equal, n_other = (n_rows - subject.n_distinct[place] for place in (side, 1 - side))
    # Rows of few whole numbers, such as of classes, are equal by design.
    if (
        n_equal < SOME * n_rows
        or n_other >= SOME * n_rows
        or not (subject.samples[side] * subject.units[side] % 1 != 0).any()
    ):
        return None
    text = (
        f"{n_equal:,} of {n_rows:,} checked rows of {subject.names[side]} repeat another row, and those of "
        f"{subject.names[1 - side]} do not, as if one input had several partners. Ties decide which neighbours such "
        "rows have"
    )
    advice = "Pass the sets of equal rows as groups=, or average their partners"
    return Doubt("repeated rows", n_equal / n_rows, None, text, advice)


@doubt("joined rows", of="pair", cheap=True)
def joined_rows(subject: Subject) -> Doubt | None:
    """Check whether rows repeat on both sides, each time with other partners, as after a join on repeated values."""
    if not subject.diagnostic_rows or any(side.shape[1] < 2 for side in subject.sides):
        return None
    hashes = [side.hashes for side in subject.diagnostic_rows]
    n_rows, n_distinct = subject.n_rows, max(len(np.unique(side)) for side in hashes)
    if n_distinct > (1 - SOME) * n_rows:
        return None
    pairs = len(np.unique(joint_hashes(hashes)))
    # Rows of few whole numbers, such as of classes, are equal by design.
    is_whole = any(not (side * unit % 1 != 0).any() for side, unit in zip(subject.samples, subject.units, strict=True))
    if is_whole or pairs - n_distinct < SOME * n_rows:
        return None
    text = (
        f"the {n_rows:,} rows of {' and '.join(subject.names)} are combinations of only {n_distinct:,} different ones, "
        "each with several partners, as after a join of tables on a column whose values repeat"
    )
    advice = "Join them on a column that identifies rows"
    return Doubt("joined rows", (pairs - n_distinct) / n_rows, None, text, advice)


@doubt("row lengths", of="pair", cheap=True)
def row_lengths(subject: Subject) -> Doubt | None:
    """Check whether rows differ in their lengths only, by more than a common factor."""
    first, second = sides = subject.samples
    # A single feature has no direction besides its sign.
    if first.shape != second.shape or first.shape[1] < 2:
        return None
    # Products by einsum need no copies of the rows.
    norms = [np.sqrt(np.einsum("ij,ij->i", rows, rows)) for rows in sides]
    if not (np.einsum("ij,ij->i", first, second) >= (1 - _PARALLEL) * norms[0] * norms[1]).all():
        return None
    # The values of each side are in a unit of its own.
    units = np.array(subject.units)
    scales = units / safe_unit(units)
    lengths = describe_changes(norms[0] * scales[0], norms[1] * scales[1], paired=True)
    if not lengths or lengths.startswith("all rows"):
        return None
    text = f"rows have the same directions on both sides, and differ in their lengths only: {lengths}"
    advice = "Scores of cosine distances cannot show this. Normalise both sides or none"
    return Doubt("row lengths", 1.0, None, text, advice)


@doubt("few coordinates", of="pair", cheap=True)
def few_coordinates(subject: Subject) -> Doubt | None:
    """Check whether a few features of large variance determine the linear agreement, or hide it."""
    few = [foreign_features(sample) for sample in subject.samples]
    if not any(map(len, few)):
        return None
    rest = [np.delete(sample, features, axis=1) for sample, features in zip(subject.samples, few, strict=True)]
    named = [
        f"{'feature' if len(features) == 1 else 'features'} {list_features(features, sample.shape[1])} of {name}"
        for name, sample, features in zip(subject.names, subject.samples, few, strict=True)
        if len(features)
    ]
    axes = all(
        _are_leading_axes(sample, features)
        for sample, features in zip(subject.samples, few, strict=True)
        if len(features)
    )
    advice = _AXES_ADVICE if axes else _FEATURES_ADVICE
    return _compare_cka(subject, rest, "few coordinates", f"without {' and '.join(named)}", advice)


def _are_leading_axes(sample: Matrix, features: Index) -> bool:
    """Return whether features are the first of many with decreasing variance, as of principal components."""
    variances = sample.var(axis=0)
    leading = np.array_equal(np.sort(features), np.arange(len(features)))
    return leading and len(variances) > _FEWEST_AXES and bool((variances[1:] <= _DECREASING * variances[:-1]).all())


@doubt("raw counts", of="pair", cheap=True)
def raw_counts(subject: Subject) -> Doubt | None:
    """Check whether the totals of raw counts, such as sequencing depth, determine the linear agreement, or hide it."""
    normal = [normalise_counts(subject, side) for side in range(2)]
    rest = [sample if it is None else it[0] for sample, it in zip(subject.samples, normal, strict=True)]
    named = [f"{name} contains raw counts, and {it[1]}" for name, it in zip(subject.names, normal, strict=True) if it]
    without = f"if counts are scaled to one total per row, and logarithms taken ({'; '.join(named)})"
    return _compare_cka(subject, rest, "raw counts", without, COUNTS_ADVICE) if named else None


def _compare_cka(subject: Subject, others: Sequence[Matrix], name: str, when: str, advice: str) -> Doubt | None:
    """Return a doubt if unbiased CKA is different with other values of the checked rows."""
    try:
        whole, without = (unbiased_cka(sides) for sides in (subject.samples, others))
    except NotEstimable:
        return None
    if abs(without - whole) < _MOVED:
        return None
    text = f"unbiased CKA is {whole:.2f}, but {without:.2f} {when}"
    return Doubt(name, min(1.0, abs(without - whole)), None, text, advice)


def unbiased_cka(sides: Sequence[Matrix]) -> float:
    """Return the unbiased linear CKA; it has no bias that would change with the number of features."""
    first, second = (Gram.build(Representation.build(side), unbiased=True) for side in sides)
    return first.inner(second)


@doubt("few rows", of="pair", cheap=True)
def few_rows(subject: Subject) -> Doubt | None:
    """Check whether a few distant rows dominate the linear agreement of two representations."""
    rows, n_far = far_rows_first(subject)
    if not n_far:
        return None
    grams = [subject.products(side, rows) for side in range(2)]
    full_score, scores = cka_without_each(grams, n_far)
    farthest = int(np.argmax(np.abs(np.array(scores) - full_score)))
    named = rows[farthest : farthest + 1]
    if abs(scores[farthest] - full_score) < _MOVED:
        named = rows[:n_far]
        if abs(linear_cka(grams, np.arange(n_far, len(rows))) - full_score) < _MOVED:
            return None
    # Inner products of the remaining rows are more precise if these rows are centred on their own mean.
    others = np.setdiff1d(rows, named)
    without = linear_cka([subject.centred_products(side, others) for side in range(2)], np.arange(len(others)))
    if abs(without - full_score) < _MOVED:
        return None
    return few_rows_doubt("CKA", subject.caller_rows(named), full_score, without, abs(without - full_score))


def few_rows_doubt(measure: str, rows: tuple[int, ...], whole: float, without: float, effect: float) -> Doubt:
    """Return the doubt that a few rows dominate a similarity."""
    names = f"row {rows[0]}" if len(rows) == 1 else f"rows {', '.join(map(str, rows))}"
    it = "it" if len(rows) == 1 else "them"
    text = f"{measure} is {whole:.2f} with {names}, but {without:.2f} without {it}"
    # Unbiased CKA leaves out products of rows with themselves, which removes the effect of one far row, but not of
    # several.
    unbiased = " or unbiased CKA" if len(rows) == 1 else ""
    advice = f"{FEW_ROWS_ADVICE} RSA, mutual kNN{unbiased}"
    return Doubt("few rows", min(1.0, effect), None, text, advice=advice, rows=rows)


def width(
    value: float, chance: float, unbiased: Callable[[], float], n_rows: int, widths: tuple[int, ...]
) -> Doubt | None:
    """Return the doubt that most of a CKA value is chance, as happens with many features per row."""
    if not chance >= max(_LEAST_CHANCE, _MOSTLY * value):
        return None
    sizes = " and ".join(f"{d:,}" for d in widths)
    text = (
        f"CKA is {value:.2f}, but permuted rows already have a mean CKA of {chance:.2f} ({n_rows:,} rows of {sizes} "
        f"features). Unbiased CKA is {unbiased():.2f}"
    )
    advice = "Report unbiased CKA, or CKA with its chance level (calibrate=True), or use more rows"
    return Doubt("width", min(1.0, chance), None, text, advice)


def saturation(names: Sequence[str], n_rows: int, widths: tuple[int, ...]) -> Doubt | None:
    """Return the doubt that measures saturate for this number of rows and features."""
    if not names:
        return None
    sizes = f" of {' and '.join(f'{d:,}' for d in widths)} features" if widths else ""
    text = (
        f"{', '.join(names)} saturate{'s' if len(names) == 1 else ''} for {n_rows:,} rows{sizes}: even "
        "unrelated data reach the value of perfect agreement"
    )
    return Doubt("saturated", 1.0, None, text, "Use truncate= (leading components), more rows, or another measure")


def saturated_measures(chance: Mapping[str, tuple[float, float, float]]) -> list[str]:
    """Return the measures whose null mean is at their best value; entries are (null mean, worst, best)."""
    saturated = []
    for name, (mean, worst, best) in chance.items():
        # Without a worst value there is no range, so only a null mean equal to the best value shows saturation.
        room = abs(best - worst) if np.isfinite(worst) else 0.0
        if np.isfinite([mean, best]).all() and abs(best - mean) <= _SATURATED * room:
            saturated.append(name)
    return saturated
