"""Doubts about rows: duplicates, outliers, scale, ties, order, and known properties such as covariates and labels."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from math import gcd

import numpy as np

from shesha.doubting.doubt_input import SOME, CovariateShare, Subject, doubt, on_each_side
from shesha.inputs.unsuited_tables import DROPLETS_ADVICE, describe_droplets
from shesha.kernels.neighbours import separate_clusters
from shesha.kernels.ranks import midranks
from shesha.kernels.repeated_rows import repeats, row_hashes
from shesha.kernels.rounding_and_scaling import is_constant
from shesha.nulls.dependence import neighbours_are_closer, p_of_first, pairs_of_places, squared_distances
from shesha.nulls.design_warnings import subtract_class_means
from shesha.results import Doubt
from shesha.results.doubts import LEVEL, describe_period
from shesha.support.provenance import name_features
from shesha.support.types import Index, Labels, Mask, Matrix, Vector
from shesha.support.warnings import NotEstimable
from shesha.support.wording import agree, count, join_items, lowercase_start
from shesha.views import Representation

_HALF = 0.5
"""Smallest share of a score that a problem must explain to be reported."""
_HOLDING = 0.75
"""A few rows dominate linear measures if they carry this share of the squared inner products."""
_LEAST_SCORE = 0.1
"""Smallest score for which a doubt is raised."""
_SHARED = 0.3
"""Rank correlation of row scales above which these scales can make two representations similar."""
_DIRECTIONS = 3
"""Number of leading principal directions that are removed before row lengths are compared."""
_WIDE, _FEW_ROWS = 12, 40
"""Minimum numbers of features and rows for which a row's scale can be distinguished from its position."""
_SPARSE = 0.05
"""Smallest share of zeros in raw counts; pixels and scores have fewer."""
_UNEVEN, _OVERDISPERSED = 0.2, 4.0
"""Smallest coefficient of variation of the totals of rows, and smallest ratio of their variance to that of Poisson
counts.
"""
_MISSING_CODES = frozenset(
    sign * float(f"{size:.6g}")
    for sign in (1, -1)
    for size in (99, 999, 9999, 99999, 999999, 1e10, 1e20, 1e30, 1e34, 1e35, 9.96921e36, np.finfo(np.float32).max)
)
"""Numbers that programs and file formats write for missing values."""
_SIGNED, _MOST_SPREAD, _SIZED = 0.1, 1e9, 1 << 16
"""Smallest share of values of each sign, largest ratio of sizes of 90 % of numbers, and about how many are checked."""
_UNIT, _NOT_ONE, _FAR_FROM_1 = 1e-3, 0.95, 0.1
"""Largest difference from length 1, limit of single values, and smallest difference of the other lengths."""
_FEWEST_LENGTHS = 3
"""Smallest number of rows of each kind; one random row can have length 1."""
_OFTEN = 3
"""How many times as often as any other measurement a code occurs."""
_FEWEST_COLUMNS, _FEWEST_COPIES = 4, 5
"""Smallest number of features, and of near copies of one vector, for which these can be told from chance."""
_NEAR, _GAP = 0.03, 5.0
"""Largest distance of near copies, relative to their length and to other distances, and the least gap around them."""
_ROUNDING_OF_ROWS = 1.2e-7
"""Distance, relative to the length of rows, up to which it may be the rounding error of inner products."""
_APART = 2.0
"""How many times the range of all other values a code is away from them."""
FEW_ROWS_ADVICE = (
    "Check these rows, and leave out faulty ones. Otherwise use a measure that a few rows cannot dominate:"
)


@doubt("duplicates", of="both", cheap=True)
def duplicates(subject: Subject) -> Doubt | None:
    """Check whether duplicated rows count more than once."""
    dependence = subject.dependence
    if not dependence.has_repeats:
        return None
    share = min(
        1.0,
        len(dependence.repeated) / dependence.n_rows + len(dependence.nearly_repeated) / max(1, dependence.n_looked_at),
    )
    text = (
        f"{len(dependence.repeated):,} of {dependence.n_rows:,} rows repeat an earlier row, and "
        f"{len(dependence.nearly_repeated):,} of {dependence.n_looked_at:,} checked rows nearly repeat another row. "
        "Duplicates count as independent evidence, so p-values and intervals are too small"
    )
    kept = np.flatnonzero(~np.isin(subject.places, dependence.repeated))
    if _FEW_ROWS <= len(kept) < len(subject.places):
        with suppress(NotEstimable):
            # Adding zero removes the sign of a value that rounds to zero.
            without = round(subject.score_rows(kept).value, 2) + 0.0
            score = subject.headline
            text += f". Without the repeated rows, {score.name} is {without:.2f} (with them {score.value:.2f})"
    return Doubt("duplicates", share, None, text, "Keep one row of each set of duplicates, or pass the sets as groups=")


@doubt("no variation", of="both", cheap=True)
@on_each_side
def rounding_only(subject: Subject, side: int) -> Doubt | None:
    """Check whether rows differ by the rounding of their number type alone, as those of a collapsed network do."""
    sample = subject.samples[side]
    # Some columns of wide rows, because copies take as much memory as the data.
    sample = sample[:, :: 1 + sample.shape[1] // _COLUMNS_LOOKED_AT]
    low, high = sample.min(axis=0), sample.max(axis=0)
    sizes, spreads = np.maximum(np.abs(low), np.abs(high)), high - low
    for kind in (np.float16, np.float32, np.float64) if spreads.any() else ():
        limit = _ROUNDING_STEPS * np.finfo(kind).eps
        if not (spreads <= limit * sizes.max()).all() or np.median(spreads - limit * sizes) > 0:
            continue
        with np.errstate(over="ignore"):
            if (sample.astype(kind) == sample).all():
                text = f"rows of {subject.names[side]} differ by no more than the rounding of {np.dtype(kind)}"
                return Doubt("no variation", 1.0, None, f"{text}, so their geometry is that of rounding", _CONSTANT)
    return None


_ROUNDING_STEPS, _COLUMNS_LOOKED_AT = 32, 1024
"""Range of rows, in steps of their number type, up to which they differ by rounding alone, and number of columns."""


@doubt("near copies", of="both", cheap=True)
@on_each_side
def near_copies(subject: Subject, side: int) -> Doubt | None:
    """Check whether many rows are one vector up to small noise, as those of empty or truncated inputs are."""
    sample = subject.samples[side]
    clusters = find_near_copies(sample, directions=subject.metric == "cosine")
    if not clusters.any() or sample.shape[1] < _FEWEST_COLUMNS:
        return None
    n_rows, n_copies, n_vectors = len(sample), int(np.count_nonzero(clusters)), int(clusters.max())
    text = (
        f"{n_copies:,} of {n_rows:,} checked rows of {subject.names[side]} are near copies of one "
        f"{'vector' if n_vectors == 1 else f'of {n_vectors} vectors'}, as of empty, truncated or failed inputs. "
        f"Scores rest on the other {n_rows - n_copies:,}, and noise decides which neighbours the copies have"
    )
    if n_rows - n_copies >= _FEW_ROWS:
        with suppress(NotEstimable):
            without = round(subject.score_rows(np.flatnonzero(clusters == 0)).value, 2) + 0.0
            score = subject.headline
            text += f". Without these rows, {score.name} is {without:.2f} (with them {score.value:.2f})"
    rows = subject.caller_rows(subject.places[clusters > 0])
    advice = f"Check the inputs of these rows ({join_items(rows)}), and leave them out; each counts as independent"
    return Doubt("near copies", n_copies / n_rows, None, text, advice=advice, rows=rows)


def find_near_copies(rows: Matrix, *, directions: bool = False) -> Index:
    """Return the vector, from 1, of which each row is a copy up to small noise; 0 for rows that differ.

    A vector counts only if it has many copies, and if rows that are no copies of any vector remain. With `directions`,
    the lengths of rows do not matter.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((20, 8))
    >>> X[:6] = X[0] + 1e-4 * rng.standard_normal((6, 8))
    >>> find_near_copies(X)
    array([1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])
    """
    vectors, fewest = np.zeros(len(rows), dtype=np.intp), max(_FEWEST_COPIES, int(SOME * len(rows)))
    is_distinct = ~np.isin(np.arange(len(rows)), repeats(row_hashes(rows)))
    gram = rows @ rows.T
    lengths = np.sqrt(np.diagonal(gram))
    if directions:
        gram /= np.maximum(np.outer(lengths, lengths), np.finfo(float).tiny)
        lengths = np.ones(len(rows))
    distances = np.sqrt(squared_distances(gram))
    while True:
        left = np.flatnonzero(vectors == 0)
        copies = _copies_of_one(distances[np.ix_(left, left)], lengths[left], is_distinct[left], fewest)
        if not copies.any():
            return vectors
        vectors[left[copies]] = vectors.max() + 1


def _copies_of_one(distances: Matrix, lengths: Vector, is_distinct: Mask, fewest: int) -> Mask:
    """Return which rows are near copies of the vector with the nearest ones; exact copies alone do not count."""
    none, distinct = np.zeros(len(lengths), dtype=bool), np.flatnonzero(is_distinct)
    if len(distinct) < 2 * fewest:
        return none
    among = distances[np.ix_(distinct, distinct)]
    # The row with the nearest neighbours is the centre; the widest gap between its sorted distances ends the copies.
    centre = int(np.partition(among, fewest - 1, axis=1)[:, fewest - 1].argmin())
    ordered, length = np.sort(among[centre]), lengths[distinct[centre]]
    # If one row is huge, all others are nearly zero.
    outer = np.maximum(ordered[fewest - 1 : -fewest], max(_ROUNDING_OF_ROWS * length, np.finfo(float).tiny))
    widest = int(np.argmax(ordered[fewest : len(ordered) - fewest + 1] / outer))
    radius, beyond = outer[widest], ordered[fewest + widest :]
    if beyond[0] < _GAP * radius or radius > _NEAR * min(np.median(beyond), length):
        return none
    # Rows of repeated trials or of tight classes are near one another as well.
    np.fill_diagonal(among, np.inf)
    others = among[centre] > radius
    others[centre] = False
    if np.median(among[np.ix_(others, others)].min(axis=1)) < _GAP * radius:
        return none
    return np.asarray(distances[distinct[centre]] <= radius)


@doubt("missing codes", of="both", cheap=True)
@on_each_side
def missing_codes(subject: Subject, side: int) -> Doubt | None:
    """Check whether a number far from all others, such as -999, stands for missing values."""
    sample, unit = subject.samples[side], subject.units[side]
    rows = np.union1d(subject.places, subject.farthest_rows[side])
    values = sample if len(rows) == len(sample) else subject.read(side, rows)
    for found in (values.min(), values.max()):
        coded, extreme = values == found, found * unit
        if coded.all() or coded.sum() < 2 or float(f"{extreme:.6g}") not in _MISSING_CODES:
            continue
        low = float(values.min(where=~coded, initial=np.inf) * unit)
        high = float(values.max(where=~coded, initial=-np.inf) * unit)
        if _stands_apart(extreme, low, high):
            n_rows = int(coded.any(axis=1).sum())
            text = (
                f"{extreme:g} occurs in {n_rows:,} of {len(rows):,} checked rows of {subject.names[side]}, far from "
                f"all other values ({low:.3g} to {high:.3g}), like a code for missing values"
            )
            advice = "If it means that a value is missing, replace it by NaN, and pass missing='drop'"
            return Doubt("missing codes", n_rows / len(rows), None, text, advice)
    return None


def _stands_apart(extreme: float, low: float, high: float) -> bool:
    return max(low - extreme, extreme - high) > _APART * max(high - low, 1e-12)


def describe_code(values: Vector, thing: str) -> str:
    """Return text on a number that stands for missing values among measurements, such as times; empty without one.

    It is a usual code that is far from all others or much more frequent than them, or -1 among positive numbers.
    """
    for extreme in map(float, (values.min(initial=np.inf), values.max(initial=-np.inf))):
        others, counts = np.unique(values[values != extreme], return_counts=True)
        n_coded = len(values) - int(counts.sum())
        if n_coded < 2 or len(others) < _FEWEST_LENGTHS:
            continue
        far = _stands_apart(extreme, float(others[0]), float(others[-1]))
        # 99 may be the largest percentage.
        often = n_coded > _OFTEN * counts.max() and extreme != 99
        is_usual = float(f"{extreme:.6g}") in _MISSING_CODES
        # Times without a response are often 0, but counts and ratings may be 0 as well.
        is_gap = extreme == 0 and others[0] > _GAP_ABOVE_ZERO * np.median(others) and counts.max() < n_coded / 2
        is_gap &= not (others == np.rint(others)).all() and n_coded >= _FEWEST_LENGTHS
        if (is_usual and (far or often)) or (extreme == -1 and others[0] > 0) or is_gap:
            return (
                f"{extreme:g} occurs in {n_coded:,} of {count(len(values), thing)}, beside values from {others[0]:.3g} "
                f"to {others[-1]:.3g}, like a code for a missing value"
            )
    return ""


_GAP_ABOVE_ZERO = 0.1
"""Smallest positive value, relative to their median, beside which zeros may stand for missing values."""


@doubt("wrong type", of="both", cheap=True)
@on_each_side
def wrong_type(subject: Subject, side: int) -> Doubt | None:
    """Check whether values differ by so many orders of magnitude that their bytes were read as another type."""
    sample = subject.samples[side]
    step = max(1, sample.size // _SIZED)
    while gcd(step, sample.shape[1]) > 1:
        step += 1
    values = sample.ravel()[::step]
    values = values[values != 0]
    # Probabilities, which can be as small, have one sign.
    if not len(values) or not _SIGNED <= float((values < 0).mean()) <= 1 - _SIGNED:
        return None
    # A single distant row does not matter to quantiles.
    low, high = np.quantile(np.abs(values), [0.05, 0.95])
    if high <= _MOST_SPREAD * low:
        return None
    tiny = subject.caller_rows(subject.places[np.abs(sample).max(axis=1) * _MOST_SPREAD < high])
    which = f" in {count(len(tiny), 'row')} ({join_items(tiny)})" if 0 < len(tiny) < len(sample) else ""
    low, high = (size * subject.units[side] for size in (low, high))
    text = (
        f"values of {subject.names[side]} have sizes from {low:.0e} to {high:.0e} (90 % of them), like bytes of "
        f"another type, or memory that was never written{which}"
    )
    advice = (
        "Check the type (such as float32 or float64) and the byte order with which the file was written and read, and "
        "that an array from numpy.empty was filled"
    )
    return Doubt("wrong type", 1.0, None, text, advice, rows=tiny)


@doubt("angles", of="both", cheap=True)
@on_each_side
def angles(subject: Subject, side: int) -> Doubt | None:
    """Check whether values fill a full circle up to both of its ends, so that distances are wrong where they wrap."""
    sample, scale = subject.samples[side], subject.units[side]
    low, high = float(sample.min()) * scale, float(sample.max()) * scale
    for start, turn, unit in _CIRCLES:
        beyond = max(start - low, high - start - turn)
        if beyond > _SLACK * turn or max(low - start, start + turn - high) > _END * turn:
            continue
        values = sample * scale
        # Few other values would be so frequent at both ends and absent beyond them.
        edges = values < start + _EDGE * turn, values > start + (1 - _EDGE) * turn
        at_ends = [float(np.mean(edge)) for edge in edges]
        if min(at_ends) < _AT_ENDS or (values % 1 == 0).all():
            continue
        text = (
            f"values of {subject.names[side]} fill {low:.4g} to {high:.4g} up to both ends, like angles in {unit}. "
            "Angles near the two ends are nearly equal, but have the largest distance"
        )
        return Doubt("angles", sum(at_ends), None, text, "If they are angles, pass their cosines and sines")
    return None


_CIRCLES = (
    (-np.pi, 2 * np.pi, "radians"),
    (0.0, 2 * np.pi, "radians"),
    (-180.0, 360.0, "degrees"),
    (0.0, 360.0, "degrees"),
)
"""Start, size and unit of full circles."""
_END, _SLACK, _EDGE, _AT_ENDS = 0.01, 1e-4, 0.05, 0.01
"""Largest distance of the extremes from the ends and beyond them, width of the two edges, and smallest share of values
in each, relative to a full circle."""


@doubt("mixed lengths", of="both", cheap=True)
@on_each_side
def mixed_lengths(subject: Subject, side: int) -> Doubt | None:
    """Check whether some rows have length 1 and the others have not, as if only some were normalised."""
    sample, size = subject.samples[side], subject.units[side]
    # A length beyond the largest number is not 1 either.
    with np.errstate(over="ignore"):
        lengths = np.sqrt(np.einsum("ij,ij->i", sample, sample)) * size
        highest = np.maximum(sample.max(axis=1), -sample.min(axis=1)) * size
    # Rows of a 1 and zeros, such as of classes, were not normalised.
    unit = (np.abs(lengths - 1) < _UNIT) & (highest < _NOT_ONE)
    share = float(unit.mean())
    few = min(np.count_nonzero(unit), np.count_nonzero(~unit)) < _FEWEST_LENGTHS
    if few or not SOME <= share <= 1 - SOME or np.median(np.abs(lengths[~unit] - 1)) < _FAR_FROM_1:
        return None
    rows = subject.caller_rows(subject.places[unit])
    text = (
        f"{len(rows):,} of {len(unit):,} checked rows of {subject.names[side]} have length 1 and the others have not "
        f"(median {np.median(lengths[~unit]):.3g}), as if two encoders or settings were mixed"
    )
    advice = "Encode all rows in the same way; lengths and distances of the two kinds cannot be compared"
    return Doubt("mixed lengths", min(share, 1 - share), None, text, advice=advice, rows=rows)


@doubt("few rows", cheap=True)
def few_rows(subject: Subject) -> Doubt | None:
    """Check whether a few distant rows dominate linear measures."""
    rows, n_far = far_rows_first(subject)
    centred = subject.read(0, rows)
    centred -= np.median(centred, axis=0)
    squares = (centred @ centred.T) ** 2
    # The other checked rows are weighted so that they represent all rows that are not distant.
    times = np.where(np.arange(len(rows)) < n_far, 1.0, (subject.n_rows - n_far) / max(1, len(rows) - n_far))
    weighed = squares * times[:, None] * times
    total = float(weighed.sum())
    for few in range(1, n_far + 1):
        share = 1 - float(weighed[few:, few:].sum()) / total if total > 0 else 0.0
        if share >= _HOLDING:
            named = subject.caller_rows(rows[:few])
            names = f"row {named[0]} accounts" if few == 1 else f"rows {', '.join(map(str, named))} account"
            text = (
                f"{names} for {100 * share:.0f} % of the squared inner products between rows, and "
                "linear measures (CKA, RV, regression) depend on these products"
            )
            # Unbiased CKA leaves out products of rows with themselves, which removes the effect of one far row, but not
            # of several.
            unbiased = " or unbiased CKA" if few == 1 else ""
            advice = f"{FEW_ROWS_ADVICE} RSA, mutual kNN, metric='cosine'{unbiased}"
            return Doubt("few rows", share, None, text, advice=advice, rows=named)
    return None


def far_rows_first(subject: Subject) -> tuple[Index, int]:
    """Return the distant rows (farthest first) followed by the other checked rows, and their number.

    Distant rows that form a separate cluster are left out: they are not outliers, and the check for rare clusters
    reports them.
    """
    far_rows: list[int] = []
    for side, farthest_rows in enumerate(subject.farthest_rows):
        far_rows += [row for row in _drop_clustered_rows(subject, side, farthest_rows).tolist() if row not in far_rows]
    first = np.array(far_rows, dtype=np.intp)
    return np.concatenate([first, np.setdiff1d(subject.places, first)]), len(first)


def _drop_clustered_rows(subject: Subject, side: int, far_rows: Index) -> Index:
    """Return those distant rows that do not belong to a separate cluster."""
    if not len(far_rows):
        return far_rows
    if np.isin(far_rows, subject.places).all():
        labels, positions = subject.clusters(side), np.searchsorted(subject.places, far_rows)
    else:
        rows = np.union1d(subject.places, far_rows)
        labels, positions = separate_clusters(subject.products(side, rows)), np.searchsorted(rows, far_rows)
    return np.asarray(far_rows[labels[positions] == np.bincount(labels).argmax()])


@doubt("row scale", of="both")
def row_scale(subject: Subject) -> Doubt | None:
    """Check whether row length, or the number of nonzero entries, explains which rows are close."""
    headline = subject.headline
    # With few features, a row's length largely determines its position; with few rows, any quantity explains the
    # distances.
    narrow = min(sample.shape[1] for sample in subject.samples) < _WIDE or len(subject.places) < _FEW_ROWS
    if narrow or headline.value < _LEAST_SCORE:
        return None
    scales = [_scales(sample, subject.metric) for sample in subject.samples]
    # A scale cannot make two representations similar unless they share it.
    everywhere = [what for what in scales[0] if all(what in scale for scale in scales)]
    shared = [what for what in everywhere if abs(_rank_correlation([scale[what] for scale in scales])) >= _SHARED]
    # Distances between several clusters are no row scales, so clusters are controlled for as well.
    clusters_by_side = [labels if (labels := subject.clusters(side)).any() else None for side in range(len(scales))]
    sides = list(zip(scales, clusters_by_side, strict=True))
    explanations = [CovariateShare(headline, side[what], what, clusters) for side, clusters in sides for what in shared]
    strongest = max(explanations, key=lambda explanation: explanation.effect, default=None)
    if strongest is None or strongest.effect < _HALF * headline.value:
        return None
    rest = [_lengths_elsewhere(sample) for sample in subject.samples]
    elsewhere = max(
        CovariateShare(headline, side, "", clusters).effect for side, (_, clusters) in zip(rest, sides, strict=True)
    )
    p_value = strongest.p_value(subject.generator)
    if elsewhere < _HALF * strongest.effect or p_value > LEVEL:
        return None
    clusters_text = "" if strongest.clusters is None else "clusters and "
    text = (
        f"controlling for {clusters_text}the {strongest.name}, {headline.name} changes from {headline.value:.2f} to "
        f"{strongest.partial_score:.2f}"
    )
    advice = (
        "Test the score with shesha.estimate(X, keep='row scale'), or pass the scale (depth, length, loudness) as "
        "covariates=. If the scale is a technical artefact, remove it first"
    )
    return Doubt("row scale", strongest.effect, p_value, text, advice)


@doubt("raw counts", cheap=True)
def raw_counts(subject: Subject) -> Doubt | None:
    """Check whether the rows are counts whose totals differ by more than sampling does, such as sequencing depth."""
    normal = normalise_counts(subject, 0)
    if normal is None:
        return None
    scaled, depth = normal
    normalised = subject.split(scaled).value
    of, score = "" if subject.names[0] == "X" else f" of {subject.names[0]}", subject.headline
    text = (
        f"the values{of} are raw counts, and {depth}, which changes distances between rows. With rows scaled to one "
        f"total, and logarithms, the {score.name} is {normalised:.2f} instead of {score.value:.2f}"
    )
    advice = f"{DROPLETS_ADVICE}. {COUNTS_ADVICE}" if "droplets" in depth else COUNTS_ADVICE
    return Doubt("raw counts", min(1.0, abs(normalised - subject.headline.value)), None, text, advice)


@doubt("two logarithms", of="both", cheap=True)
@on_each_side
def two_logarithms(subject: Subject, side: int) -> Doubt | None:
    """Check whether a logarithm was taken of logarithms of normalised counts, in some rows or all."""
    sample, unit = subject.samples[side], subject.units[side]
    if sample.shape[1] < _WIDE or len(sample) < _FEW_ROWS or sample.min() < 0:
        return None
    if not 1 < float(sample.max()) * unit < _LOGARITHM or (sample == np.floor(sample)).all():
        return None
    twice = np.array([_is_logarithm_of_logarithms(row[row > 0] * unit) for row in sample])
    if (n_rows := int(twice.sum())) < _SOME_TWICE * len(sample):
        return None
    text = (
        f"{n_rows:,} of {len(sample):,} checked rows of {subject.names[side]} contain logarithms of logarithms of "
        "counts, as after log1p (and normalisation) was applied twice, which shrinks differences between high counts"
    )
    return Doubt("two logarithms", n_rows / len(sample), None, text, "Begin with the counts, and apply log1p once")


_LOGARITHM, _SOME_TWICE, _MULTIPLE = 16.0, 0.05, 1e-3
"""Bound of logarithms of counts, smallest share of rows that is named, and relative tolerance of multiples."""
_STEPS = 50


def _is_logarithm_of_logarithms(values: Vector) -> bool:
    """Return whether positive values are log1p(a log1p(b n)) of counts n; a and b differ between rows."""
    inner = np.expm1(values)
    smallest = np.unique(np.round(inner, 5))[:2]
    if len(values) < _WIDE or len(smallest) < 2 or _are_multiples(inner):
        return False
    # The smallest counts are usually 1 and 2, of which the ratio log1p(2 b) / log1p(b) gives b.
    ratio = inner[np.abs(inner - smallest[1]) < 1e-5].mean() / inner.min()
    low, high = -14.0, 14.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        b = np.exp(middle)
        low, high = (middle, high) if np.log1p(2 * b) / np.log1p(b) > ratio else (low, middle)
    with np.errstate(over="ignore"):
        return _are_multiples(np.expm1(inner / inner.min() * np.log1p(np.exp(low))))


def _are_multiples(values: Vector) -> bool:
    """Return whether positive values are several multiples of the smallest one, as scaled counts are."""
    few = values[values < values.min() / (4 * _MULTIPLE)] / values.min()
    near = np.abs(few - np.round(few)) < _MULTIPLE * few
    return 2 * len(few) > len(values) and len(np.unique(np.round(few))) > 2 and bool(near.all())


COUNTS_ADVICE = (
    "Normalise the counts first (such as with scanpy.pp.normalize_total and log1p), or pass the totals of the rows as "
    "within="
)


def _are_counts(values: Matrix | Vector) -> bool:
    return not (values < 0).any() and bool((values == np.floor(values)).all())


def normalise_counts(subject: Subject, side: int) -> tuple[Matrix, str] | None:
    """Return normalised checked rows and the range of their totals; None unless they are counts of uneven totals."""
    sample, unit = subject.samples[side], subject.units[side]
    # One row tells real numbers from counts without a copy of all values.
    if sample.shape[1] < _WIDE or len(sample) < _FEW_ROWS or not _are_counts(sample[0] * unit):
        return None
    counts = sample * unit
    if not _are_counts(counts):
        return None
    totals = counts.sum(axis=1)
    # Pixels have a largest value, and binary features and ranks have few values or none that repeats.
    middle = float(np.median(totals))
    if counts.max() < 2 or (counts == 0).mean() < _SPARSE or middle <= 0:
        return None
    if totals.std() < _UNEVEN * totals.mean() or totals.var() < _OVERDISPERSED * totals.mean():
        return None
    low, high = np.quantile(totals, [0.05, 0.95])
    scaled = np.log1p(counts * (middle / np.where(totals > 0, totals, 1.0))[:, None])
    droplets = describe_droplets(totals)
    return scaled, droplets or f"90 % of the rows have a total (depth) between {low:,.0f} and {high:,.0f}"


def _lengths_elsewhere(sample: Matrix) -> Vector:
    """Return the lengths of the rows after the directions of largest variance are removed.

    A row can be long because of its position along one direction, but a difference in scale lengthens it in all
    directions.
    """
    centred = sample - sample.mean(axis=0)
    sizes, directions = np.linalg.eigh(centred @ centred.T)
    few = max(1, min(_DIRECTIONS, sample.shape[1] // 8))
    projections = directions[:, -few:] ** 2 @ sizes[-few:]
    squared = np.einsum("ij,ij->i", centred, centred)
    return np.asarray(np.sqrt(np.maximum(squared - projections, 0.0)))


_ROWS = 16
_SCALES = (
    "length of each row",
    "sum of each row",
    "distance of each row from the mean",
    "number of nonzero entries of each row",
)


def _rank_correlation(sides: list[Vector]) -> float:
    """Return the rank correlation of two quantities, or 1 for a single quantity."""
    if len(sides) == 1:
        return 1.0
    return float(np.corrcoef([midranks(side)[0] for side in sides])[0, 1])


def _scales(sample: Matrix, metric: str) -> dict[str, Vector]:
    mean = sample.mean(axis=0)

    def row_statistics(rows: Matrix) -> tuple[Vector, Vector, Vector, Vector]:
        centred = rows - rows.mean(axis=1, keepdims=True) if metric == "correlation" else rows
        nonzero = np.count_nonzero(rows, axis=1).astype(np.float64)
        return np.linalg.norm(centred, axis=1), rows.sum(axis=1), np.linalg.norm(rows - mean, axis=1), nonzero

    # Some rows at a time, because copies of wide rows take as much memory as the data.
    parts = [row_statistics(sample[start : start + _ROWS]) for start in range(0, len(sample), _ROWS)]
    scales = dict(zip(_SCALES, map(np.concatenate, zip(*parts, strict=True)), strict=True))
    return {what: scale for what, scale in scales.items() if np.ptp(scale) > 1e-9 * (np.abs(scale).max() or 1.0)}


_CONSTANT = "Check how the data were made. Similarity, stability and neighbours are undefined for constant data"
_N_NEAREST = 10
"""Number of nearest neighbours whose ties are checked."""
_DECIDED = 0.2
"""Ties are reported if their treatment determines at least this share of the ranks or neighbours."""


@doubt("ties")
def ties(subject: Subject) -> Doubt | None:
    """Check whether so many distances are equal that the treatment of ties determines ranks or neighbours."""
    distances, tolerance = Representation.build(subject.sample).condensed_distances(subject.metric, squared=True)
    known = np.sort(distances[np.isfinite(distances)])
    if len(known) < 2:
        return None
    starts = np.flatnonzero(np.concatenate([[True], np.diff(known) > tolerance]))
    if len(starts) == 1:
        return Doubt("no variation", 1.0, None, "all distances are equal, so there is no geometry to score", _CONSTANT)
    sizes = np.diff([*starts, len(known)]).astype(np.float64)
    # Share of the variance of the ranks that ties remove (Kendall and Gibbons 1990).
    of_ranks = float(np.sum(sizes**3 - sizes) / (float(len(known)) ** 3 - len(known)))
    of_neighbours = _share_of_ties(
        np.searchsorted(known[starts], distances + tolerance, side="right"), len(subject.sample)
    )
    effect = max(of_ranks, of_neighbours)
    if effect < _DECIDED:
        return None
    text = (
        "rows have few distinct values or share no nonzero entries, so many distances are equal. The treatment of ties "
        f"determines {100 * of_ranks:.0f} % of the variance of the distance ranks and {100 * of_neighbours:.0f} % of "
        f"the {_N_NEAREST} nearest neighbours"
    )
    which = "distance ranks or neighbours" if of_ranks >= _DECIDED else "neighbours"
    advice = f"Use a measure of features (such as CKA) instead of a measure of {which}, or use more features"
    return Doubt("ties", effect, None, text, advice)


def _share_of_ties(levels: Index, n: int) -> float:
    """Return the mean share of the nearest neighbours that depends on the order of equal distances."""
    k = min(_N_NEAREST, n - 1)
    square = np.full((n, n), np.iinfo(np.intp).max)
    i, j = np.triu_indices(n, k=1)
    square[i, j] = square[j, i] = levels
    last = np.partition(square, k - 1, axis=1)[:, k - 1, None]
    n_free = k - np.count_nonzero(square < last, axis=1)
    n_equal = np.count_nonzero(square == last, axis=1)
    return float(np.mean(n_free / k * (1 - n_free / n_equal)))


_N_ORDERS = 60
_CLASS_LEVEL = 1e-4
"""Largest permutation p-value at which classes follow the order of the rows."""
_PERIODS = 4
"""Maximum number of periods whose total length is compared with a whole number of rows."""
_ORDER_ADVICE = (
    "For a time series, pass shift=True, and sessions as blocks=. Pass batches as blocks=, and subjects with several "
    "trials as groups=. If rows were only sorted, shuffle all data in the same way. No permutation of rows corrects "
    "for a drift over all rows: remove the drift, or pass it as covariates="
)
_ALTERNATION_ADVICE = (
    "Pass the alternating variable (such as the condition) as within= or covariates=. If rows were only interleaved, "
    "shuffle all data in the same way"
)


@doubt("order", of="both", cheap=True)
def order(subject: Subject) -> Doubt | None:
    """Check whether consecutive rows are closer than random rows."""
    dependence = subject.dependence
    if not subject.ordered or not dependence.has_order:
        return None
    classes, p_value = subject.classes_here, dependence.p_value
    if classes is not None and _neighbours_of_one_class(subject, classes) <= _CLASS_LEVEL:
        # Rows sorted by class explain similar neighbours, so only an order within classes raises the doubt.
        p_value = _order_p_value(subject, classes)
        if p_value > LEVEL:
            return None
    if (split := _find_two_parts(subject)) is not None:
        where, share = split
        text = (
            f"rows from {where} on differ from those before it ({100 * share:.0f} % of the variance), and "
            "within either part consecutive rows are no closer than others"
        )
        return Doubt("order", share, p_value, text, _PARTS_ADVICE)
    score = _score_of_later_rows(subject, 1)
    text = (
        "consecutive rows are closer than random pairs of rows. If each row is compared with the next row instead of "
        f"itself, {subject.headline.name} is {score:.2f} (with itself {subject.headline.value:.2f})"
    )
    advice = describe_period(dependence.period) if dependence.period else _ORDER_ADVICE
    return Doubt("order", max(0.0, score), p_value, text, advice)


_PARTS_ADVICE = (
    "If the two parts are two kinds of rows (such as images and texts) or two batches, analyse each by itself, or pass "
    "the part of each row as blocks="
)
_FEWEST_OF_PART, _SHARE_OF_PARTS, _ANY_ORDER = 8, 0.1, 0.05
"""Fewest checked rows of a part, smallest share of the variance that two parts must explain, and p-value of the order
within parts at which they do not explain it."""


def _find_two_parts(subject: Subject) -> tuple[str, float] | None:
    """Return where the rows change, and the share of the variance, if this explains their order; otherwise None."""
    n = len(subject.places)
    splits = np.arange(_FEWEST_OF_PART, n - _FEWEST_OF_PART + 1)
    if not len(splits):
        return None
    grams = [subject.centred_products(side, subject.places) for side in range(len(subject.sides))]
    between = np.zeros(len(splits))
    for gram in grams:
        # The sum over the first rows determines that over the others, because all rows sum to zero.
        of_first = np.diagonal(gram.cumsum(axis=0).cumsum(axis=1))[splits - 1]
        between += of_first * n / (splits * (n - splits)) / max(float(np.trace(gram)), np.finfo(float).tiny)
    best = int(between.argmax())
    share = float(between[best]) / len(grams)
    if share < _SHARE_OF_PARTS:
        return None
    parts = np.arange(n) >= splits[best]
    member = np.stack([~parts, parts]).T / np.sqrt([(~parts).sum(), parts.sum()])
    for gram in grams:
        half = gram - member @ (member.T @ gram)
        rest = half - (half @ member) @ member.T
        if neighbours_are_closer(squared_distances(rest), subject.windows) <= _ANY_ORDER:
            return None
    last, first = subject.caller_rows(subject.places[splits[best] - 1 : splits[best] + 1])
    # Rows between two stretches were not checked.
    return f"about row {first:,}" if first == last + 1 else f"a row between {last + 1:,} and {first:,}", share


def _score_of_later_rows(subject: Subject, step: int) -> float:
    """Return the target score after each row of one side is replaced by the one `step` places later (or earlier).

    Rows are replaced cyclically within their stretch.
    """
    ends = np.cumsum([0, *(len(window) for window in subject.windows)])
    orders = [
        np.concatenate([np.roll(np.arange(start, stop), shift) for start, stop in pairwise(ends)])
        for shift in (-step, step)
    ]
    return float(np.clip(subject.headline.score_permutations(orders).mean(), -1.0, 1.0))


@doubt("alternating order", of="both", cheap=True)
def alternating_order(subject: Subject) -> Doubt | None:
    """Check whether rows alternate or have a period, as with interleaved conditions or batches."""
    dependence = subject.dependence
    classes = subject.classes_here
    in_turn = dependence.has_alternation or (dependence.period > 0 and not dependence.has_order)
    if not subject.ordered or not in_turn:
        return None
    if classes is not None and _neighbours_of_one_class(subject, classes, -1.0) <= LEVEL:
        # The classes alternate, so alternating rows are no problem of their own.
        return None
    step = 2 if dependence.has_alternation else _whole_periods(dependence.period)
    score = _score_of_later_rows(subject, step)
    what = (
        "rows two apart are closer than random pairs of rows, but consecutive rows are not"
        if dependence.has_alternation
        else f"the rows have a period of about {dependence.period:.3g} rows"
    )
    text = (
        f"{what}. If each row is compared with the row {step} places later instead of itself, "
        f"{subject.headline.name} is {score:.2f} (with itself {subject.headline.value:.2f})"
    )
    p_value = dependence.alternation_p_value if dependence.has_alternation else None
    advice = _ALTERNATION_ADVICE if dependence.has_alternation else describe_period(dependence.period)
    return Doubt("alternating order", max(0.0, score), p_value, text, advice)


def _whole_periods(period: float) -> int:
    """Return a number of rows close to one or a few whole periods; a detected period may be a harmonic."""
    periods = period * np.arange(1, _PERIODS + 1)
    return round(float(periods[np.argmin(np.abs(periods - np.round(periods)).round(1))]))


def _neighbours_of_one_class(subject: Subject, classes: Labels, sign: float = 1.0) -> float:
    """Return the p-value for many neighbours of the same class, or for few if `sign` is negative; rows are permuted."""
    first, second = pairs_of_places(subject.windows)
    rng = subject.generator
    orders = [np.arange(len(classes)), *(rng.permutation(len(classes)) for _ in range(_N_ORDERS))]
    return p_of_first(sign * np.array([np.mean(classes[order][first] == classes[order][second]) for order in orders]))


def _order_p_value(subject: Subject, classes: Labels) -> float:
    """Return the p-value for how close neighbours of the same class are, from permutations within classes."""
    first, second = pairs_of_places(subject.windows)
    same = classes[first] == classes[second]
    first, second = first[same], second[same]
    if len(first) < 2:
        return 1.0
    ranks = (subject.headline.first + subject.headline.second).mean(axis=0)
    n, rng = len(classes), subject.generator

    def closeness(order: Index) -> float:
        low, high = np.sort([order[first], order[second]], axis=0)
        # The feature split ranks similarities, but the comparison of two representations ranks distances.
        sign = -1 if subject.is_pair else 1
        return sign * float(ranks[low * n - low * (low + 1) // 2 + high - low - 1].mean())

    orders = [np.arange(n), *(_shuffle_classes(classes, rng) for _ in range(_N_ORDERS))]
    return p_of_first(np.array([closeness(order) for order in orders]))


def _shuffle_classes(classes: Labels, rng: np.random.Generator) -> Index:
    order = np.arange(len(classes))
    for label in np.unique(classes):
        places = np.flatnonzero(classes == label)
        order[places] = places[rng.permutation(len(places))]
    return order


_CONFOUNDED, _CONFOUNDED_LEVEL = 0.3, 1e-4
_EXPLAINED, _LEAST = 0.2, 0.05
"""Smallest share of a score, and smallest absolute part, that a covariate must explain to be reported."""
_ONE_COLUMN, _LEAST_SHARE, _MAIN_SHARE = 0.8, 0.02, 0.2
"""Smallest correlation of a covariate with a column or the first principal component, smallest share of the variance
that it explains there, and smallest share of this component."""


@doubt("covariate", of="both")
def covariate(subject: Subject) -> Doubt | None:
    """Check whether a covariate explains which rows are close to each other, or a column that contributes to it."""
    score, column = _explained_score(subject), known_column(subject)
    if score is None or column is None:
        return score or column
    return replace(score, text=f"{column.text}; {score.text}", advice=column.advice)


def _explained_score(subject: Subject) -> Doubt | None:
    headline = subject.headline
    if subject.known and len(subject.sides) == 1 and headline.value < _LEAST:
        # Halves of principal components share nothing that a covariate could explain.
        headline = subject.split(subject.sample, rotated=True)
    least = max(_LEAST, _EXPLAINED * abs(headline.value))
    explanations = [
        CovariateShare(headline, quantity[subject.places], name) for name, quantity in subject.known.items()
    ]
    explanations = sorted(
        (explanation for explanation in explanations if explanation.effect >= least),
        key=lambda explanation: -explanation.effect,
    )
    tested = ((explanation, explanation.p_value(subject.generator)) for explanation in explanations)
    strongest, p_value = next(((explanation, p) for explanation, p in tested if p <= LEVEL), (None, 1.0))
    if strongest is None:
        return None
    name = strongest.name
    text = (
        f"without the part of the distances that {name} explains (partial rank correlation), {headline.name} changes "
        f"from {headline.value:.2f} to {strongest.partial_score:.2f}"
    )
    return Doubt("covariate", strongest.effect, p_value, text, _covariate_remedy(name))


def _covariate_remedy(name: str) -> str:
    if name == "groups":
        return f"Pass {name} as groups="
    return (
        f"Pass {name} as covariates= (for stability, to shesha.estimate in Python), which removes its effect from the "
        "features, or as within=, which permutes only similar rows"
    )


@on_each_side
def known_column(subject: Subject, side: int) -> Doubt | None:
    """Check whether a covariate determines one column, or the first principal component.

    Halves of the other features share nothing with a column.
    """
    sample = subject.samples[side]
    of = "" if subject.names[side] == "X" else f" of {subject.names[side]}"
    variances = sample.var(axis=0)
    total = variances.sum() or 1.0
    axes = {}
    for column in np.flatnonzero(variances >= _LEAST_SHARE * total).tolist():
        (name,) = name_features([column], sample.shape[1])
        number = f" (component {column + 1})" if name == str(column) else ""
        axes[f"column {name}{of}{number}"] = sample[:, column], float(variances[column] / total)
    u, sizes, _ = np.linalg.svd(sample - sample.mean(axis=0), full_matrices=False)
    share = float(sizes[0] ** 2 / max(float(sizes @ sizes), np.finfo(float).tiny))
    if share >= _MAIN_SHARE:
        axes[f"the first principal component{of}"] = (u[:, 0], share)
    found = []
    for axis, (values, share) in axes.items():
        ranks = midranks(np.ascontiguousarray(values))[0]
        for name, quantity in subject.known.items():
            strength, p_value = _column_association(ranks, quantity[subject.places])
            p_value = min(1.0, p_value * (sample.shape[1] + 1))
            if strength**2 * share >= _LEAST_SHARE and p_value <= _CONFOUNDED_LEVEL:
                found.append((abs(strength), axis, name, p_value, strength, share))
    if not found or (strongest := max(found))[0] < _ONE_COLUMN:
        return None
    size, axis, name, p_value, strength, share = strongest
    how = "rank correlation" if subject.known[name].dtype.kind == "f" else "association"
    text = (
        f"{axis} is mostly {name} ({how} {strength:.2f}) and carries {100 * share:.0f} % of the variance, so distances "
        f"between rows are partly those of {name}"
    )
    advice = _covariate_remedy(name)
    if axis.startswith("column"):
        advice = f"Leave this column out, as is usual for a component of depth, or {lowercase_start(advice)}"
    return Doubt("covariate", size**2 * share, p_value, text, advice)


def _column_association(ranks: Vector, quantity: Vector | Labels) -> tuple[float, float]:
    """Return the rank correlation of a column with numbers, or its association with labels, and the p-value."""
    from scipy.stats import pearsonr

    if len(np.unique(quantity)) < 2:
        return 0.0, 1.0
    if quantity.dtype.kind != "f":
        return association(np.unique(quantity, return_inverse=True)[1], ranks)
    strength, p_value = pearsonr(ranks, midranks(quantity.astype(np.float64))[0])
    return float(strength), float(p_value)


@doubt("confounded labels")
def label_confounding(subject: Subject) -> Doubt | None:
    """Check whether classes are confounded with the row order, a covariate or groups."""
    if subject.classes is None:
        return None
    both = {**subject.known, **subject.design}
    associations = [(*association(subject.classes, quantity), name) for name, quantity in both.items()]
    associations = [
        association
        for association in associations
        if association[1] <= _CONFOUNDED_LEVEL and association[0] >= _CONFOUNDED
    ]
    if associations:
        strength, p_value, name = max(associations)
        text, advice = _state_confounding(subject, name, both[name], strength)
        return Doubt("confounded labels", strength, p_value, text, advice)
    here = subject.classes_here
    if not subject.ordered or here is None or (p_value := _neighbours_of_one_class(subject, here)) > _CONFOUNDED_LEVEL:
        return None
    # The order of the rows could explain everything that the classes explain.
    effect = CovariateShare(subject.headline, here, "classes").effect
    text = "classes follow the order of the rows, so batch effects or drift look like class differences"
    advice = "Pass the batch, session or plate as blocks=. If rows were only sorted by class, shuffle them"
    is_sorted = np.count_nonzero(np.diff(subject.classes)) == len(np.unique(subject.classes)) - 1
    if is_sorted and _order_p_value(subject, here) > _ANY_ORDER:
        # Files are often sorted by class, without any order within classes.
        text = (
            "rows are sorted by class, and have no order within classes. If classes were also measured one after the "
            "other, batch effects look like class differences"
        )
        advice = "If so, measure each class in several batches, and pass the batch as blocks=. Otherwise ignore this"
    if effect < _LEAST and not subject.dependence.is_dependent:
        text = "labels follow one another in blocks, but neither labels nor their order explain distances between rows"
        advice = "Check that labels are in the order of the rows: a sorted table of labels belongs to other rows"
    return Doubt("confounded labels", effect, p_value, text, advice)


@doubt("label features", cheap=True)
def label_features(subject: Subject) -> Doubt | None:
    """Check whether features have one value in each class, as a label among the features has."""
    classes = subject.classes_here
    if classes is None or len(np.unique(classes)) < 2:
        return None
    sample = subject.samples[0]
    member = np.eye(int(classes.max()) + 1)[classes]
    sizes = np.maximum(member.sum(axis=0), 1)
    means = member @ ((member.T @ sample) / sizes[:, None])
    within, total = ((sample - means) ** 2).sum(axis=0), ((sample - sample.mean(axis=0)) ** 2).sum(axis=0)
    varied = ~is_constant(sample)
    if _are_discriminant_axes(subject):
        text = (
            f"the {sample.shape[1]} features are uncorrelated and equally variable within classes, as axes that a "
            "discriminant analysis (LDA) fitted with these labels are, so scores with labels are too high"
        )
        return Doubt("label features", 1.0, None, text, "Fit the axes with other rows")
    found = np.flatnonzero(varied & (within <= _ONE_VALUE * total))
    # Rows of one input each may be equal within all classes.
    if not len(found) or 2 * len(found) > np.count_nonzero(varied) or sizes.max() < _FEWEST_OF_PART:
        return None
    share = float(total[found].sum() / total.sum())
    text = (
        f"{count(len(found), 'feature')} ({', '.join(name_features(found[:5], sample.shape[1]))}) with "
        f"{100 * share:.2g} % of the variance {agree(len(found), 'has', 'have')} one value in each class, as labels "
        "among the features have, so that scores with labels are too high"
    )
    return Doubt("label features", max(share, _LEAST), None, text, "Leave them out")


def _are_discriminant_axes(subject: Subject) -> bool:
    """Return whether features, fewer than classes, have a multiple of the identity as covariance within classes.

    The axes were fitted with all rows, so that some of them do not show it.
    """
    assert subject.classes is not None
    n, d = subject.sides[0].shape
    if not 2 <= d <= subject.classes.max() or n < 4 * d or n * d > _MOST_VALUES:
        return False
    (residuals,) = subtract_class_means([subject.read(0, np.arange(n))], subject.classes)
    products = residuals.T @ residuals
    size = float(np.trace(products)) / d
    return bool(np.abs(products - size * np.eye(d)).max() <= _ORTHOGONAL * size)


_ORTHOGONAL, _MOST_VALUES = 1e-3, 1 << 24
"""Largest covariance within classes, relative to the variance, of axes that were fitted with the labels, and largest
number of values that are read to find it."""
_ONE_VALUE = 1e-9
"""Largest variance within classes, relative to all, of a feature that has one value in each class."""


def _state_confounding(subject: Subject, name: str, quantity: Vector | Labels, strength: float) -> tuple[str, str]:
    """Return a text and an advice about classes that go together with a quantity, as their joint design decides."""
    assert subject.classes is not None
    declared = name in subject.design
    named = f"{name}=" if declared else name
    values = len(np.unique(quantity))
    if 2 * values <= len(quantity):
        both = len(set(zip(subject.classes.tolist(), quantity.tolist(), strict=True)))
        if both == values == len(np.unique(subject.classes)):
            text = f"each class has its own value of {named}, so no analysis can separate their effects"
            return text, f"Measure each class with several values of {named}"
        if both == values and not declared:
            text = (
                f"all rows with one {name} have the same class, so differences between them look like those of classes"
            )
            return text, f"Pass {name} as groups=, which exchanges all rows of one {name} together"
    text = f"classes are confounded with {named} (association {strength:.2f}), so no score can separate their effects"
    if declared:
        return text, "The null distribution accounts for the confounder, but the score does not, so rely on the p-value"
    if quantity.dtype.kind == "f":
        return text, f"Compare rows of similar {name}: pass it as within="
    return text, f"Compare classes within {name}: pass {name} as blocks="


def association(classes: Labels, quantity: Vector | Labels) -> tuple[float, float]:
    """Return the association between a quantity and the class, from 0 to 1 beyond chance, and its p-value."""
    from scipy.special import chdtrc, fdtrc

    n, n_classes = len(classes), int(classes.max()) + 1
    if quantity.dtype.kind == "f":
        ranks = np.argsort(np.argsort(quantity, kind="stable"), kind="stable").astype(np.float64)
        means = np.bincount(classes, ranks) / np.maximum(np.bincount(classes), 1)
        between_classes = float(np.sum((means[classes] - ranks.mean()) ** 2))
        total = float(np.sum((ranks - ranks.mean()) ** 2))
        share, spare = between_classes / total, n - n_classes
        if spare < 1:
            return 0.0, 1.0
        ratio = share / (n_classes - 1) / max((1 - share) / spare, 1e-300)
        return float(np.sqrt(max(0.0, 1 - (1 - share) * (n - 1) / spare))), float(fdtrc(n_classes - 1, spare, ratio))
    codes = np.unique(quantity, return_inverse=True)[1]
    n_codes = int(codes.max()) + 1
    if n_codes < 2:
        return 0.0, 1.0
    table = np.bincount(classes * n_codes + codes, minlength=n_classes * n_codes).reshape(n_classes, n_codes)
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / n
    statistic = float(np.sum((table - expected) ** 2 / np.where(expected > 0, expected, 1.0)))
    freedom = (n_classes - 1) * (n_codes - 1)
    # Cramer's V with bias correction (Bergsma 2013), because the bias is large for many groups.
    phi = max(0.0, statistic / n - freedom / (n - 1))
    sides = [k - (k - 1) ** 2 / (n - 1) for k in (n_classes, n_codes)]
    strength = float(np.sqrt(phi / max(min(sides) - 1, 1e-9)))
    return min(1.0, strength), float(chdtrc(freedom, statistic))
