"""Compare representations with any number of rows, using only sums over the rows."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from shesha.comparison._subset_intervals import FEWEST_CLUSTERS
from shesha.comparison.chance_and_intervals import add_note, add_null
from shesha.comparison.engine import failure, make_score, missing_score, score_not_reached
from shesha.kernels.threads import single_threaded_blas
from shesha.measures import Measure
from shesha.moments import Moments, SummedRepresentation, Sums, compact_parts, leave_one_out, merge_all
from shesha.nulls.corrections import holm
from shesha.nulls.linear_moments import KernelSums, PearsonNull, inner_product_null
from shesha.nulls.max_statistic import max_statistic_p_values
from shesha.nulls.null_summary import best_value, summarise
from shesha.nulls.restricted_permutations import require_enough_draws
from shesha.results import Comparison, Score
from shesha.support.progress import track
from shesha.support.seeds import generator, number
from shesha.support.types import Matrix, Seed, Vector
from shesha.support.warnings import CalibrationWarning, NotEstimable, warn
from shesha.views import Gram

_WIDE, _FEW_PARTS = 1024, 20
"""Number of features above which intervals use fewer parts of the rows, and how many they then use."""
_NOTED = 0.25
"""Bias above which a note is added, relative to half the width of the interval."""
_BIASED = (
    "the interval describes the value for {:,} rows. It covers the choice of rows, but not the bias of finite samples. "
    "By the jackknife, this bias is about {:+.2g}, or up to twice as large if many directions are unrelated"
)
_EXCHANGED = "all rows (exact moments or the limit for many rows, instead of permutations)"


@dataclass(frozen=True)
class _Sides:
    """Both sides of the moments, in the form of representations that measures accept."""

    moments: Moments
    sums: Sums

    def look(self) -> tuple[SummedRepresentation, SummedRepresentation]:
        """Return both sides as new representations, whose views are computed only when needed."""
        return self.replace_sums(self.sums)

    def replace_sums(self, sums: Sums) -> tuple[SummedRepresentation, SummedRepresentation]:
        """Return both sides based on other sums of the same representations, such as sums over fewer rows."""
        first, second = (SummedRepresentation(sums, place, self.moments.precision(place)) for place in (0, 1))
        return first, second


def compare_moments(
    moments: Moments,
    chosen: Sequence[Measure],
    *,
    calibrate: bool,
    confidence: float,
    n_draws: int,
    alpha: float,
    seed: Seed,
) -> Comparison:
    """Compare both sides with each measure that needs only sums; other scores state the reason."""
    if len(moments.widths) != 2:
        raise ValueError(f"moments must be of two representations of at least one row, got {moments!r}")
    if calibrate and moments.dependence:
        warn(
            f"p-values may be too small and intervals too narrow: {moments.dependence}. Sums cannot restrict the "
            "permutations, so add one row (such as the mean) of each donor, session or stretch of time",
            CalibrationWarning,
        )
    parts = moments.parts()
    sides = _Sides(moments, merge_all(parts))
    views = sides.look()
    scores = {measure.name: score_sums(measure, views) for measure in chosen}
    interrupted = False
    if calibrate:
        known = [measure for measure in chosen if scores[measure.name].has_value]
        try:
            scores |= _add_intervals(sides, parts, known, scores, confidence)
            scores |= _add_chances(sides, known, scores, n_draws, alpha, seed)
        except KeyboardInterrupt:
            interrupted = True
    n = sides.sums.n_rows
    first, second = moments.names
    return Comparison(
        first,
        second,
        ((n, moments.widths[0]), (n, moments.widths[1])),
        tuple(scores.get(measure.name) or score_not_reached(measure) for measure in chosen),
        number(seed),
        interrupted,
        _EXCHANGED if calibrate else "",
        alpha=alpha,
        confidence=confidence,
    )


def score_sums(measure: Measure, sides: tuple[SummedRepresentation, SummedRepresentation]) -> Score:
    """Compare two sides given by sums; if there is no value, return a score with the reason."""
    start = time.perf_counter()
    try:
        with single_threaded_blas():
            value, remark = _value(measure, sides)
    except NotEstimable as reason:
        return missing_score(measure, str(reason))
    except Exception as error:  # One measure's failure must not stop the others.
        return missing_score(measure, failure(error))
    if not math.isfinite(value):
        return missing_score(measure, f"the measure returned {value} without a reason")
    return replace(make_score(measure, value, time.perf_counter() - start, ""), note=remark)


def _value(measure: Measure, sides: tuple[SummedRepresentation, SummedRepresentation]) -> tuple[float, str]:
    measure.require_comparable(*sides)
    first, second = (measure.look(side) for side in sides)
    return measure.compare_views(first, second), measure.format_remark(first, second)


def _values_or_nan(measures: Sequence[Measure], sides: tuple[SummedRepresentation, SummedRepresentation]) -> Vector:
    def value(measure: Measure) -> float:
        try:
            return _value(measure, sides)[0]
        except Exception:  # The score of all rows reports the cause.
            return float("nan")

    return np.array([value(measure) for measure in measures])


def _add_intervals(
    sides: _Sides, parts: Sequence[Sums], measures: Sequence[Measure], scores: dict[str, Score], confidence: float
) -> dict[str, Score]:
    """Add intervals from a jackknife that leaves out one part of consecutive rows at a time."""
    few = compact_parts(parts, _FEW_PARTS if sum(sides.moments.widths) > _WIDE else len(parts))
    if len(few) < FEWEST_CLUSTERS:
        note = f"no interval: an interval needs at least {FEWEST_CLUSTERS} parts of the rows, got {len(few)}"
        return {measure.name: add_note(scores[measure.name], note) for measure in measures}
    columns = _values_without_parts(sides, few, measures)
    sizes = np.array([part.n_rows for part in few])
    return {
        measure.name: _add_interval(scores[measure.name], column, sizes, confidence, measure.bounds)
        for measure, column in zip(measures, columns, strict=True)
    }


def _values_without_parts(sides: _Sides, parts: Sequence[Sums], measures: Sequence[Measure]) -> Matrix:
    """Return the value of each measure (row) without each part of the data (column)."""
    # The leave-one-out sums are computed one at a time, because together they would need as much memory as all parts.
    without: Iterator[Sums] = leave_one_out(parts)
    rows = [
        _values_or_nan(measures, sides.replace_sums(sums))
        for sums in track(without, len(parts), "parts of the rows left out")
    ]
    return np.array(rows).T


def _add_interval(
    score: Score, without: Vector, sizes: Vector, confidence: float, bounds: tuple[float, float]
) -> Score:
    from scipy.stats import t

    if not np.isfinite(without).all():
        return add_note(score, "no interval: the measure has no value without some parts of the rows")
    half = t.ppf(0.5 + confidence / 2, len(sizes) - 1) * math.sqrt(jackknife_variance(score.value, without, sizes))
    low, high = max(score.value - half, bounds[0]), min(score.value + half, bounds[1])
    bounded = replace(score, interval_low=min(score.value, low), interval_high=max(score.value, high))
    bias = score.value - jackknife_mean(score.value, without, sizes)
    return add_note(bounded, _BIASED.format(int(sizes.sum()), bias)) if abs(bias) > _NOTED * half else bounded


def jackknife_mean(value: float, without: Vector, sizes: Vector) -> float:
    """Return the value minus the part of its bias that is proportional to 1 / n."""
    h = sizes.sum() / sizes
    return len(h) * value - float(((1 - 1 / h) * without).sum())


def jackknife_variance(value: float, without: Vector, sizes: Vector) -> float:
    """Return the variance of a value, from its values without each group of rows (Busing et al. 1999)."""
    h = sizes.sum() / sizes
    pseudo = h * value - (h - 1) * without
    return float(((pseudo - jackknife_mean(value, without, sizes)) ** 2 / (h - 1)).mean())


def _add_chances(
    sides: _Sides, measures: Sequence[Measure], scores: dict[str, Score], n_draws: int, alpha: float, seed: Seed
) -> dict[str, Score]:
    """Add chance levels, from exact moments of the null or from simulated unrelated data."""
    paired = [measure for measure in measures if measure.paired]
    if sides.sums.n_rows < 4:
        return {
            measure.name: add_note(scores[measure.name], "no chance level: fewer than 4 rows") for measure in paired
        }
    results = {}
    drawn = [measure for measure in paired if not has_exact_moments(measure)]
    for measure in paired:
        if measure not in drawn:
            results[measure.name] = add_exact_null(measure, scores[measure.name], sides.sums, (0, 1), alpha)
    together = np.empty(0)
    if drawn:
        require_enough_draws(n_draws, alpha)
        draw = _random_matching_sums(sides.sums, generator(seed))
        table = [
            _values_or_nan(drawn, sides.replace_sums(sums))
            for sums in track((draw() for _ in range(n_draws)), n_draws, "draws of unrelated data")
        ]
        columns = list(np.array(table).T)
        for measure, column in zip(drawn, columns, strict=True):
            best = best_value(measure.closer, measure.bounds, None)
            summary = summarise(scores[measure.name].value, column, measure.closer, alpha, best)
            results[measure.name] = add_null(scores[measure.name], summary)
        draws = [np.r_[scores[measure.name].value, column] for measure, column in zip(drawn, columns, strict=True)]
        together = max_statistic_p_values(draws, [measure.closer for measure in drawn])
    exact = [measure for measure in paired if measure not in drawn]
    corrected = _correct([results[measure.name].p_value for measure in exact], together)
    return {
        measure.name: replace(results[measure.name], corrected_p_value=float(p))
        for measure, p in zip([*exact, *drawn], corrected, strict=True)
    }


def _correct(exact: Sequence[float], together: Vector) -> Vector:
    """Correct exact p-values, and p-values that share draws and were already corrected for one another.

    Holm's correction alone would multiply p-values from draws by the number of measures, and could then not reject.
    Measures that share draws therefore count as one test.
    """
    if not len(together):
        return holm(exact)
    first = together.min()
    corrected = holm([*exact, first])
    # The factor of Holm's correction for the measures that share draws is the number of p-values not yet rejected.
    factor = 1 + sum(p >= first for p in exact)
    return np.concatenate([corrected[:-1], np.clip(together * factor, corrected[-1], 1.0)])


def has_exact_moments(measure: Measure) -> bool:
    """Return whether the moments of a measure's null are known exactly, so that it needs no draws."""
    return measure.inner_product and measure.view is Gram


def is_unbiased(measure: Measure) -> bool:
    """Return whether a kernel alignment leaves out the products of rows with themselves."""
    return bool(dict(measure.view_key[1]).get("unbiased"))


def add_exact_null(
    measure: Measure, score: Score, sums: Sums, pair: tuple[int, int], alpha: float, factor: float = 1.0
) -> Score:
    """Add the chance level of a kernel alignment, from its exact moments over all permutations.

    `factor` is the factor by which the score was already corrected for a projection.
    """
    unbiased = is_unbiased(measure)
    kernels = [kernel_sums(sums, place, unbiased) for place in pair]
    null = inner_product_null(sums.n_rows, *kernels, unbiased=unbiased)
    scale = math.sqrt(kernels[0].squared_norm * kernels[1].squared_norm) / factor
    mean, sd = null.mean / scale, null.sd / scale
    if not sd > 0:
        return add_note(score, "no chance level: permutations do not change the value")
    unit = PearsonNull(mean, sd, null.skewness)
    threshold = unit.quantile(1 - alpha)
    top = max(measure.bounds)
    calibrated = max(0.0, (score.value - threshold) / (top - threshold)) if top > threshold else 0.0
    return replace(
        score,
        null_mean=mean,
        null_sd=sd,
        threshold=threshold,
        score=calibrated,
        p_value=unit.p_value(score.value),
    )


def kernel_sums(sums: Sums, place: int, unbiased: bool) -> KernelSums:
    """Return the quantities of one side from which the null of a kernel alignment is computed."""
    side, n = sums.sides[place], sums.n_rows
    trace = side.squared_norm
    # The last entry is a centred sum of squares, so n times the squared mean is added to undo the centring.
    diagonal = float(side.products[-1, -1]) + trace**2 / n
    norm = float((side.features**2).sum())
    if unbiased:
        norm += -n / (n - 2) * diagonal + trace**2 / ((n - 1) * (n - 2))
    return KernelSums(trace, norm, diagonal, np.asarray(np.linalg.eigvalsh(side.features), dtype=np.float64))


def _random_matching_sums(sums: Sums, rng: np.random.Generator) -> Callable[[], Sums]:
    """Return a function that draws the sums that would result from a random matching of the rows.

    For many rows, the cross-products between one side and the permuted other side are normally distributed. Their
    covariance matrix over all permutations is the Kronecker product of the two sides' own product matrices, divided by
    n - 1 (Hoeffding 1951).
    """
    roots = [_root(side.products) for side in sums.sides]

    def draw() -> Sums:
        noise = rng.standard_normal((roots[0].shape[1], roots[1].shape[1]))
        return sums.replace_cross(roots[0] @ noise @ roots[1].T / math.sqrt(sums.n_rows - 1))

    return draw


def _root(products: Matrix) -> Matrix:
    """Return a matrix whose product with its transpose is `products`."""
    values, vectors = np.linalg.eigh(products)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))
