"""Doubts about features: a few dominant ones, several units, a common offset, duplicates, decorrelated axes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shesha.doubting.doubt_input import Headline, Subject, doubt, on_each_side, power_of_two
from shesha.kernels.rounding_and_scaling import centred_units, is_constant, z_scores
from shesha.kernels.spectrum import decorrelation_p_value
from shesha.results import Doubt
from shesha.support.provenance import name_features
from shesha.support.types import Index, Matrix, Vector
from shesha.support.wording import join_items

_MOST = 0.5
"""Share of the distances that a few features must determine to be reported."""
_WIDE, _NEARLY_ALL = 16, 0.8
"""With fewer features than this, a few of them must determine this larger share of the distances."""
_FEW = 0.02
"""Largest share of all features that counts as few."""
_ROGUE, _APART = 5, 2.0
"""Largest number of outstanding features that counts as few, and minimum ratio to the next share.

They count as few only among at least ten times as many features, or if their shares are far larger than the next.
More features are reported only if the score changes without their excess.
"""
_MINORITY, _FAR_APART = 0.25, 10.0
"""Largest share of the features that counts as few if their shares are far larger, and smallest ratio to the next."""
_MOVED = 0.1
"""Smallest change of the score at which a few features, or duplicates, are reported."""
_NEARLY_PARALLEL, _CHANGED = 0.8, 0.3
"""An offset is reported if the mean cosine, or the change of the score, exceeds its limit."""
_COPY, _COPIES = 0.95, 0.1
"""Minimum correlation between noisy duplicates, and minimum share of duplicate columns to be reported."""
_ERRORS = 2.0
"""Number of standard errors by which the sample correlation of duplicates may fall below `_COPY`."""
_ISOLATED, _MOSTLY = 2.5, 0.75
"""Factor by which duplicates must explain a column better than others, and for which share of columns.

In low-rank data and chains of neighbouring columns, by contrast, correlations of every strength occur.
"""
_WIDEST = 1024
"""Maximum number of columns that are compared with one another."""
_VALUES, _ROWS = 8, 12
"""Minimum numbers of distinct values in a column and of rows for which chance duplicates are unlikely."""
_AXES = 128
_SORTED = 0.9


@doubt("few coordinates", cheap=True)
def few_coordinates(subject: Subject) -> Doubt | None:
    """Check whether a few features dominate the distances."""
    if subject.sample.shape[1] < 4:
        return None
    largest, share = dominant_features(_shares(subject.sample, subject.metric))
    few, d = len(largest), subject.sample.shape[1]
    varying = ~is_constant(subject.sample)
    if not few or np.count_nonzero(varying) < 2 or features_in_two_units(subject.sample, subject.metric) is not None:
        return None
    changed = subject.split(z_scores(subject.sample[:, varying])).value
    effect = abs(changed - subject.headline.value)
    if effect < _MOVED and (share < _NEARLY_ALL or few > _ROGUE):
        return None
    verb = "determines" if few == 1 else "determine"
    text = (
        f"{few} of {d:,} features ({list_features(largest, d)}) {verb} {100 * share:.0f} % of the {subject.metric} "
        f"distances. With standardised features, the {subject.headline.name} becomes {changed:.2f}"
    )
    advice = "Check these features. Standardise them or leave them out, and report this choice"
    return Doubt("few coordinates", min(1.0, effect), None, text, advice)


@doubt("mixed units", of="both", cheap=True)
@on_each_side
def mixed_units(subject: Subject, side: int) -> Doubt | None:
    """Check whether features in a larger unit determine the distances, and those in a smaller one nothing."""
    sample, of = subject.samples[side], "" if subject.names[side] == "X" else f" of {subject.names[side]}"
    text = describe_units(sample, f"features{of}", subject.metric)
    if not text:
        return None
    sides = [z_scores(rows[:, ~is_constant(rows)]) if k == side else rows for k, rows in enumerate(subject.samples)]
    changed = Headline.from_pair(sides[0], sides[1], subject.metric) if subject.is_pair else subject.split(sides[0])
    score = subject.headline
    text += (
        f", and determine the {subject.metric} distances alone. With standardised features, the {score.name} becomes "
        f"{changed.value:.2f} (from {score.value:.2f})"
    )
    return Doubt("mixed units", min(1.0, abs(changed.value - score.value)), None, text, UNITS_ADVICE)


def describe_units(sample: Matrix, things: str, metric: str, names: Sequence[object] | None = None) -> str:
    """Return which features have a far larger variance, as in another unit, by numbers or names; empty if none has."""
    sides = features_in_two_units(sample, metric)
    if sides is None:
        return ""
    large, small = (float(np.median(sample[:, side].std(axis=0))) for side in sides)
    ratio = min(large / max(small, np.finfo(float).tiny), 1e100) ** 2
    most, others = (
        join_items(name_features(side, sample.shape[1]) if names is None else [names[k] for k in side], most=3)
        for side in sides
    )
    return (
        f"{len(sides[0]):,} of {sample.shape[1]:,} {things} ({most}) have about {float(f'{ratio:.1g}'):,.6g} times the "
        f"variance of the others ({others}), as in another unit"
    )


UNITS_ADVICE = "Standardise the columns, or analyse each kind by itself"


def dominant_features(shares: Vector) -> tuple[Index, float]:
    """Return the few features that determine most of the distances (largest first; none if not few) and their share."""
    order = np.argsort(-shares, kind="stable")
    few = _n_few(shares[order])
    share = float(shares[order[:few]].sum())
    # If there are only a few features, it is normal that one of them determines half of the distances.
    dominate = len(shares) > 1 and share >= (_MOST if len(shares) >= _WIDE else _NEARLY_ALL)
    return (order[:few] if dominate else order[:0]), share


def foreign_features(sample: Matrix, nearly_all: float = _NEARLY_ALL) -> Index:
    """Return the few features with nearly all variance, or far more than any other, which may be no features.

    The variances of principal components and of power laws fall gradually.
    """
    shares = _shares(sample, "euclidean")
    few, share = dominant_features(shares)
    if not len(few):
        return few
    others = np.delete(shares, few)
    apart = len(others) > 0 and shares[few].min() >= _FAR_APART * others.max()
    return few if apart or share >= nearly_all else few[:0]


def features_in_two_units(sample: Matrix, metric: str) -> tuple[Index, Index] | None:
    """Return the features with nearly all of the distances, and the others, if they seem to have two units, or None.

    The shares of either kind must be alike, with an empty gap between the two. Shares of counts, and of principal
    components, fall gradually.
    """
    shares = _shares(sample, metric)
    varied = np.flatnonzero((shares > 0) & ~is_constant(sample))
    fewest = max(_SEVERAL, int(_FEW * len(shares)))
    if len(varied) < 2 * fewest:
        return None
    order = varied[np.argsort(-shares[varied], kind="stable")]
    sizes = np.log(shares[order])
    gaps = sizes[:-1] - sizes[1:]
    cut = int(np.argmax(gaps)) + 1
    large, small = order[:cut], order[cut:]
    if len(large) <= _MINORITY * len(shares) and len(dominant_features(shares)[0]) == len(large):
        return None
    if min(len(large), len(small)) < fewest or shares[small].sum() >= _HARDLY_ANY * shares.sum():
        return None
    spread = max(float(np.ptp(np.quantile(side, [0.1, 0.9]))) for side in (sizes[:cut], sizes[cut:]))
    if gaps[cut - 1] < max(np.log(_OTHER_UNIT), spread):
        return None
    # Units of a network that are rarely active vary as little, and so do the last principal components of low rank.
    is_rare = (sample[:, small] == np.median(sample[:, small], axis=0)).mean(axis=0) > _HALF_EQUAL
    are_first = np.array_equal(np.sort(large), np.arange(cut))
    if is_rare.mean() > _HALF_EQUAL or (are_first and (np.diff(sample[:, :cut].var(axis=0)) <= 0).all()):
        return None
    return np.sort(large), np.sort(small)


_SEVERAL, _OTHER_UNIT, _HARDLY_ANY = 4, 30.0, 0.01
"""Smallest number of features of each unit, smallest ratio between the shares of any two of them, and largest share of
the distances that those in the smaller unit determine."""
_HALF_EQUAL = 0.5
"""Share of equal values above which a unit is rarely active, and share of such units above which none is in a unit."""


def list_features(features: Index, n_features: int) -> str:
    """Return the names or numbers of the first five features, for a sentence."""
    return ", ".join(name_features(features[:5], n_features)) + (", ..." if len(features) > 5 else "")


def _n_few(falling: Vector) -> int:
    """The number of features that count as few: 1 in 50, or more with far larger shares than the others."""
    gradual = max(1, int(_FEW * len(falling)))
    cumulative = np.cumsum(falling)
    for few in range(1, int(_MINORITY * len(falling)) + 1):
        ratio = _APART if few <= min(_ROGUE, len(falling) // 10) else _FAR_APART
        if cumulative[few - 1] >= _MOST and falling[few - 1] >= ratio * falling[few]:
            return few
    return gradual


def _shares(sample: Matrix, metric: str) -> Vector:
    """Return the share of each feature in the distances under the metric."""
    # Some features at a time, because a copy of wide rows takes as much memory as the data.
    blocks = [sample[:, start : start + _WIDEST] for start in range(0, sample.shape[1], _WIDEST)]
    # Squares of values divided by a power of two near the largest do not overflow.
    unit = power_of_two(max(float(np.abs(block).max(initial=0.0)) for block in blocks) or 1.0)
    if metric == "euclidean":
        variances = np.concatenate([(block / unit).var(axis=0) for block in blocks])
    else:
        means = sample.mean(axis=1, keepdims=True) / unit if metric == "correlation" else np.zeros((len(sample), 1))
        lengths = np.sum([((block / unit - means) ** 2).sum(axis=1, keepdims=True) for block in blocks], axis=0)
        known = np.where(lengths > 0, lengths, 1.0)
        variances = np.concatenate([np.mean((block / unit - means) ** 2 / known, axis=0) for block in blocks])
    total = float(variances.sum())
    return np.asarray(variances / total if total > 0 else variances)


@doubt("offset", cheap=True)
def offset(subject: Subject) -> Doubt | None:
    """Check whether all rows point the same way, so that angles between them carry little information."""
    if subject.metric == "euclidean":
        return None
    rows = subject.sample
    if subject.metric == "correlation":
        rows = rows - rows.mean(axis=1, keepdims=True)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    cosine = float(np.sum(np.mean(rows / np.where(lengths > 0, lengths, 1.0), axis=0) ** 2))
    if cosine < (_MOST - 0.2):
        return None
    centred = subject.split(subject.sample - subject.sample.mean(axis=0)).value
    change = abs(centred - subject.headline.value)
    if cosine < _NEARLY_PARALLEL and (change < _CHANGED or rows.shape[1] < _WIDE):
        return None
    text = (
        f"the rows share a common offset (the mean cosine between rows is {cosine:.2f}). Without the offset, the "
        f"{subject.headline.name} becomes {centred:.2f}"
    )
    advice = (
        "Centre the columns before computing cosines, or use a measure that centres (CKA, Procrustes). Report the "
        "score with and without centring"
    )
    return Doubt("offset", min(1.0, change), None, text, advice)


@doubt("copied features")
def duplicate_features(subject: Subject) -> Doubt | None:
    """Check whether duplicated features, which agree across any split, raise the score."""
    copies = _copies(subject.sample, subject.generator)
    d = subject.sample.shape[1]
    if copies is None:
        return None
    looked_at, group = copies
    first = np.unique(group, return_index=True)[1]
    share = 1 - len(first) / len(group)
    if share < _COPIES:
        return None
    columns = looked_at[np.sort(first)]
    score_without = subject.split(subject.sample[:, columns]).value if len(columns) >= 4 else 0.0
    full_score = subject.headline.value if len(looked_at) == d else subject.split(subject.sample[:, looked_at]).value
    text = (
        f"{100 * share:.0f} % of the features duplicate another feature (correlation above "
        f"{_copy_threshold(len(subject.sample)):.2f}). Duplicates in different halves agree by construction. Without "
        f"duplicates, the score changes from {full_score:.2f} to {score_without:.2f}"
    )
    if abs(full_score - score_without) < _MOVED:
        return None
    advice = "Keep one column of each group of duplicates: X[:, columns]"
    # Columns of rows with levels of their own, such as traces of cells, resemble one another by these levels alone.
    rest = subject.sample - subject.sample.mean(axis=1, keepdims=True)
    levelled = _copies(rest, subject.generator)
    left = 0.0 if levelled is None else 1 - len(np.unique(levelled[1])) / len(levelled[1])
    if left < _COPIES:
        if subject.metric == "correlation":
            return None
        centred = subject.split(rest).value
        text = (
            f"{100 * share:.0f} % of the features are nearly equal to another feature (correlation above "
            f"{_copy_threshold(len(subject.sample)):.2f}), but not after the mean of each row is subtracted, so rows "
            f"differ mostly by levels of their own, such as baselines of traces. The score then changes from "
            f"{full_score:.2f} to {centred:.2f}"
        )
        advice = "Subtract the baseline or mean of each row, or pass metric='correlation' (--metric correlation)"
    return Doubt("copied features", min(1.0, abs(full_score - score_without)), None, text, advice)


def _copies(sample: Matrix, rng: np.random.Generator) -> tuple[Index, Index] | None:
    """Return the compared features, and the group of duplicates of each; None without clear groups."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    if len(sample) < _ROWS:
        return None
    columns = np.arange(sample.shape[1])
    if len(columns) > _WIDEST:
        columns = np.sort(rng.choice(columns, _WIDEST, replace=False))
    ordered = np.sort(sample[:, columns], axis=0)
    n_values = 1 + np.count_nonzero(np.diff(ordered, axis=0), axis=0)
    columns = columns[n_values >= _VALUES]
    if len(columns) < 4:
        return None
    columns = columns[~is_constant(sample[:, columns])]
    unit = centred_units(sample[:, columns])
    squared = np.square(unit.T @ unit)
    close = coo_array(squared >= _copy_threshold(len(sample)) ** 2)
    group = np.asarray(connected_components(close, directed=False)[1], dtype=np.intp)
    return (columns, group) if _are_isolated(1 - squared, group) else None


def _copy_threshold(n_rows: int) -> float:
    """Return the smallest sample correlation of duplicates, allowing for sampling error with few rows."""
    return float(np.tanh(np.arctanh(_COPY) - _ERRORS / np.sqrt(n_rows - 3)))


def _are_isolated(unexplained: Matrix, group: Index) -> bool:
    """Return whether most duplicates are far closer to their whole group than to any other column."""
    duplicated = np.bincount(group)[group] > 1
    together = group[:, None] == group
    inside = np.where(together, unexplained, 0.0).max(axis=1)
    outside = np.where(together, 1.0, unexplained).min(axis=1)
    isolated = outside >= _ISOLATED * inside
    return bool(np.any(duplicated) and np.mean(isolated[duplicated]) >= _MOSTLY)


@doubt("whitened")
def whitened(subject: Subject) -> Doubt | None:
    """Check whether columns are less correlated than chance allows, because axes were fitted to the rows."""
    columns = np.unique(np.linspace(0, subject.sides[0].shape[1] - 1, _AXES).astype(np.intp))
    covariance, n = _covariance(subject, columns)
    spread = np.sqrt(np.diagonal(covariance))
    varied = spread > 1e-9 * (spread.max(initial=0.0) or 1.0)
    spread, covariance = spread[varied], covariance[np.ix_(varied, varied)]
    p_value = decorrelation_p_value(covariance, n)
    if np.isnan(p_value):
        return None
    averaged = subject.split(subject.sample, rotated=True).value
    falling = float(np.mean(np.diff(spread) <= 1e-9 * spread[:-1]))
    equal = spread.max() < 1.05 * spread.min()
    what = "whitened axes" if equal else "principal components" if falling >= _SORTED else "axes fitted to these rows"
    text = (
        f"correlations between columns are smaller than sampling error alone would make them, as for {what}. Halves of "
        "such features are unrelated by construction, so the feature split says nothing about them"
    )
    advice = "Use basis_averaged_split, which does not depend on the axes, or score the original features"
    return Doubt("whitened", min(1.0, abs(averaged - subject.headline.value)), p_value, text, advice)


def _covariance(subject: Subject, columns: Index) -> tuple[Matrix, int]:
    """Return the covariance of columns over all rows (in memory or on disk), and the number of rows."""
    middle = subject.sample[:, columns].mean(axis=0)
    sample = subject.sample[:, columns]
    scale = sample.std(axis=0)
    # Squares of very small columns underflow, so these columns are treated as constant.
    scale = np.where(is_constant(sample) | (scale == 0), 1.0, scale)
    total, sums = np.zeros((len(columns), len(columns))), np.zeros(len(columns))

    def add(block: Matrix) -> tuple[Matrix, Vector]:
        rows = (block[:, columns] - middle) / scale
        return rows.T @ rows, rows.sum(axis=0)

    for products, row_sum in subject.map_blocks(0, add):
        total += products
        sums += row_sum
    n = subject.n_rows
    return (total - np.outer(sums, sums) / n) * np.outer(scale, scale) / n, n
