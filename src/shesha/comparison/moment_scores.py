"""Compare representations of any number of rows by sums over the rows, and the null of linear alignments."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import sqrt
from typing import Any

import numpy as np
from scipy.stats import pearson3, t

from shesha.comparison.engine import (
    FEWEST_CLUSTERS,
    add_note,
    add_null,
    describe_scores,
    make_score,
    name_pair,
    score_not_reached,
    score_or_reason,
)
from shesha.extract import stream_layers
from shesha.kernels.threads import single_threaded_blas
from shesha.measures import Measure
from shesha.moments import LayerMoments, Moments, SummedRepresentation, Sums, compact_parts, leave_one_out, merge_all
from shesha.moments.layer_pair_sums import grid_bytes
from shesha.nulls.null_summary import best_value, holm, max_statistic_p_values, summarise
from shesha.nulls.restricted_permutations import require_enough_draws
from shesha.results import Comparison, LayerComparison, Score
from shesha.support import memory
from shesha.support.progress import collect, track
from shesha.support.seeds import ALPHA, generator, number
from shesha.support.types import Matrix, Seed, Vector
from shesha.support.warnings import CalibrationWarning, warn
from shesha.views import Gram


@dataclass(frozen=True)
class KernelSums:
    """The quantities of a centred kernel matrix that determine the moments of its permutation null."""

    trace: float
    squared_norm: float
    squared_diagonal: float
    spectrum: Vector
    """Eigenvalues of the matrix, which determine the skewness of the null."""


@dataclass(frozen=True)
class PearsonNull:
    """A null distribution (Pearson type III) with given mean, standard deviation and skewness."""

    mean: float
    sd: float
    skewness: float

    def p_value(self, observed: float) -> float:
        """Return the probability of a value at least as large as the observed one."""
        return float(pearson3(self.skewness).sf((observed - self.mean) / self.sd))

    def quantile(self, share: float) -> float:
        """Return a quantile of the null distribution."""
        return self.mean + self.sd * float(pearson3(self.skewness).ppf(share))


def inner_product_null(n: int, first: KernelSums, second: KernelSums, *, unbiased: bool) -> PearsonNull:
    """Null of the inner product between two centred kernel matrices of n rows, where n is at least 4.

    Set `unbiased` for the unbiased estimator, whose matrices have a zero diagonal and rows that sum to zero. In this
    case, `squared_norm` must be the squared norm of those matrices.
    """
    sides = (first, second)
    mean = 0.0 if unbiased else first.trace * second.trace / (n - 1)
    spread, diagonal = 1.0, 1.0
    for side in sides:
        trace, squares = (0.0, 0.0) if unbiased else (side.trace, side.squared_diagonal)
        spread *= (n - 1) * side.squared_norm - trace**2
        diagonal *= n * (n + 1) * squares - (n - 1) * (trace**2 + 2 * side.squared_norm)
    variance = 2 * spread / ((n - 1) ** 2 * (n + 1) * (n - 2))
    variance += diagonal / ((n + 1) * n * (n - 1) * (n - 2) * (n - 3))
    thirds, seconds = ([float(np.sum(side.spectrum**power)) for side in (first, second)] for power in (3, 2))
    skewness = float(sqrt(8) * thirds[0] * thirds[1] / (seconds[0] * seconds[1]) ** 1.5)
    return PearsonNull(mean, sqrt(max(variance, 0.0)), skewness)


_WIDE, _FEW_PARTS = 1024, 20
"""Number of features above which intervals use fewer parts of the rows, and how many they then use."""
_NOTED = 0.25
"""Bias above which a note is added, relative to half the width of the interval."""
_BIASED = (
    "the interval describes the value for {:,} rows. It covers the choice of rows, but not the bias of finite samples. "
    "By the jackknife, this bias is about {:+.2g}, or up to twice as large if many directions are unrelated"
)
_EXCHANGED = "all rows (exact moments or the limit for many rows, instead of permutations)"


Views = tuple[SummedRepresentation, SummedRepresentation]
ViewsOf = Callable[[Sums], Views]
"""Function that returns both sides as new representations, from sums over any rows of the same representations."""


def views_of_moments(moments: Moments) -> ViewsOf:
    """Return a function from sums to views."""

    def views_of(sums: Sums) -> Views:
        first, second = (SummedRepresentation(sums, place, moments.precision(place)) for place in (0, 1))
        return first, second

    return views_of


def compare_moments(
    moments: Moments,
    chosen: Sequence[Measure],
    *,
    calibrate: bool,
    confidence: float,
    n_draws: int,
    alpha: float,
    seed: Seed,
    with_intervals: bool = False,
) -> Comparison:
    """Compare both sides with each measure that needs only sums; other scores state the reason.

    With `calibrate` or `with_intervals`, scores have intervals.
    """
    if len(moments.widths) != 2:
        raise ValueError(f"moments must be of two representations of at least one row, got {moments!r}")
    if calibrate and moments.dependence:
        warn(
            f"p-values may be too small and intervals too narrow: {moments.dependence}. Sums cannot restrict the "
            "permutations, so add one row (such as the mean) of each donor, session or stretch of time",
            CalibrationWarning,
        )
    parts, views_of = moments.parts(), views_of_moments(moments)
    sums = merge_all(parts)
    views = views_of(sums)
    scores = {measure.name: score_sums(measure, views) for measure in chosen}
    interrupted = False
    if calibrate or with_intervals:
        known = [measure for measure in chosen if scores[measure.name].has_value]
        try:
            scores |= _add_intervals(views_of, parts, known, scores, confidence)
            if calibrate:
                scores |= _add_chances(views_of, sums, known, scores, n_draws, alpha, seed)
        except KeyboardInterrupt:
            interrupted = True
    n = sums.n_rows
    first, second = moments.names
    return Comparison(
        first,
        second,
        ((n, moments.widths[0]), (n, moments.widths[1])),
        scores=tuple(scores.get(measure.name) or score_not_reached(measure) for measure in chosen),
        seed=number(seed),
        interrupted=interrupted,
        exchanged=_EXCHANGED if calibrate else "",
        alpha=alpha,
        confidence=confidence,
    )


def score_sums(measure: Measure, sides: Views) -> Score:
    """Compare two sides given by sums; if there is no value, return a score with the reason."""
    start = time.perf_counter()

    def score() -> Score:
        with single_threaded_blas():
            value, remark = _value(measure, sides)
        return replace(make_score(measure, value, time.perf_counter() - start), notes=(remark,) if remark else ())

    return score_or_reason(measure, score)


def _value(measure: Measure, sides: Views) -> tuple[float, str]:
    measure.require_comparable(*sides)
    first, second = (measure.look(side) for side in sides)
    return measure.compare_views(first, second), measure.format_remark(first, second)


def values_or_nan(measures: Sequence[Measure], sides: Views) -> Vector:
    """Return the value of each measure, without reasons for missing ones."""

    def value(measure: Measure) -> float:
        try:
            return _value(measure, sides)[0]
        except Exception:  # The score of all rows reports the cause.
            return float("nan")

    return np.array([value(measure) for measure in measures])


def _add_intervals(
    views_of: ViewsOf, parts: Sequence[Sums], measures: Sequence[Measure], scores: dict[str, Score], confidence: float
) -> dict[str, Score]:
    """Add intervals from a jackknife that leaves out one part of consecutive rows at a time."""
    few = jackknife_parts(parts)
    if len(few) < FEWEST_CLUSTERS:
        note = f"no interval: an interval needs at least {FEWEST_CLUSTERS} parts of the rows, got {len(few)}"
        return {measure.name: add_note(scores[measure.name], note) for measure in measures}
    columns = values_without_parts(views_of, few, measures)
    sizes = np.array([part.n_rows for part in few])
    return {
        measure.name: _add_interval(scores[measure.name], column, sizes, confidence, measure.bounds)
        for measure, column in zip(measures, columns, strict=True)
    }


def jackknife_parts(parts: Sequence[Sums]) -> Sequence[Sums]:
    """Return the parts of the rows of which the jackknife leaves out one at a time: fewer for wide features."""
    wide = sum(side.n_features for side in parts[0].sides) > _WIDE
    return compact_parts(parts, _FEW_PARTS if wide else len(parts))


def values_without_parts(views_of: ViewsOf, parts: Sequence[Sums], measures: Sequence[Measure]) -> Matrix:
    """Return the value of each measure (row) without each part of the data (column)."""
    # The leave-one-out sums are computed one at a time, because together they would need as much memory as all parts.
    without = track(leave_one_out(parts), len(parts), "parts of the rows left out")
    return np.array([values_or_nan(measures, views_of(sums)) for sums in without]).T


def _add_interval(
    score: Score, without: Vector, sizes: Vector, confidence: float, bounds: tuple[float, float]
) -> Score:
    if not np.isfinite(without).all():
        return add_note(score, "no interval: the measure has no value without some parts of the rows")
    half = t.ppf(0.5 + confidence / 2, len(sizes) - 1) * math.sqrt(jackknife_variance(score.value, without, sizes))
    low, high = max(score.value - half, bounds[0]), min(score.value + half, bounds[1])
    bounded = replace(score, low=float(min(score.value, low)), high=float(max(score.value, high)))
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
    views_of: ViewsOf,
    sums: Sums,
    measures: Sequence[Measure],
    scores: dict[str, Score],
    n_draws: int,
    alpha: float,
    seed: Seed,
) -> dict[str, Score]:
    """Add chance levels, from exact moments of the null or from simulated unrelated data."""
    paired = [measure for measure in measures if measure.paired]
    if sums.n_rows < _FEWEST_ROWS:
        return {
            measure.name: add_note(scores[measure.name], "no chance level: fewer than 4 rows") for measure in paired
        }
    results = {}
    drawn = [measure for measure in paired if not has_exact_moments(measure)]
    for measure in paired:
        if measure not in drawn:
            results[measure.name] = add_exact_null(measure, scores[measure.name], sums, (0, 1), alpha)
    together = np.empty(0)
    if drawn:
        require_enough_draws(n_draws, alpha)
        unrelated = track(_random_matching_sums(sums, n_draws, generator(seed)), n_draws, "draws of unrelated data")
        columns = list(np.array([values_or_nan(drawn, views_of(one)) for one in unrelated]).T)
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


def add_exact_null(measure: Measure, score: Score, sums: Sums, pair: tuple[int, int], alpha: float) -> Score:
    """Add the chance level of a kernel alignment, from its exact moments over all permutations."""
    unbiased = is_unbiased(measure)
    kernels = [kernel_sums(sums, place, unbiased) for place in pair]
    null = inner_product_null(sums.n_rows, *kernels, unbiased=unbiased)
    scale = math.sqrt(kernels[0].squared_norm * kernels[1].squared_norm)
    mean, sd = null.mean / scale, null.sd / scale
    if not sd > 0:
        return add_note(score, "no chance level: permutations do not change the value")
    unit = PearsonNull(mean, sd, null.skewness)
    threshold = unit.quantile(1 - alpha)
    top = max(measure.bounds)
    calibrated = max(0.0, (score.value - threshold) / (top - threshold)) if top > threshold else 0.0
    return replace(
        score,
        chance=mean,
        chance_sd=sd,
        threshold=threshold,
        calibrated=calibrated,
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


def _random_matching_sums(sums: Sums, n_draws: int, rng: np.random.Generator) -> Iterator[Sums]:
    """Draw sums that would result from random matchings of the rows.

    For many rows, the cross-products between one side and the permuted other side are normally distributed. Their
    covariance matrix over all permutations is the Kronecker product of the two sides' own product matrices, divided by
    n - 1 (Hoeffding 1951).
    """
    first, second = (_root(side.products) for side in sums.sides)
    for _ in range(n_draws):
        noise = rng.standard_normal((first.shape[1], second.shape[1]))
        yield replace(sums, cross={(0, 1): first @ noise @ second.T / math.sqrt(sums.n_rows - 1)})


def _root(products: Matrix) -> Matrix:
    """Return a matrix whose product with its transpose is `products`."""
    values, vectors = np.linalg.eigh(products)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


_FEWEST_ROWS = 4


def compare_layer_moments(moments: LayerMoments, measure: Measure) -> LayerComparison:
    """Compare all pairs of layers; kernel alignments have p-values with Holm's correction for the pairs."""
    n_rows = moments.sums().n_rows
    grid = _grid(measure, _pairs(measure, moments), moments.first_names, moments.second_names)
    return replace(grid, n_rows=n_rows)


def compare_models(
    models: Sequence[Any],
    data: Sequence[Any],
    measure: Measure,
    *,
    names: tuple[str, str] | tuple[()] = (),
    **options: Any,
) -> LayerComparison:
    """Run two models on the same inputs, batch by batch, and compare every pair of their layers.

    Activations are not stored. If the sums for all pairs of layers exceed the memory budget, the layers of the first
    model are processed in strips, and each strip needs its own pass over the inputs.

    Parameters
    ----------
    models : two models
        As for `shesha.extract.encode`.
    data : sequence
        Texts or images.
    measure : Measure
        A measure that depends only on means and products.
    names : pair of str
        Names of the models in the result. Default: no names.
    **options
        As for `shesha.extract.stream_layers`.
    """
    scores: list[Score] = []
    first: tuple[str, ...] = ()
    second: tuple[str, ...] = ()
    remaining: list[str] | None = None
    while remaining is None or remaining:
        moments = LayerMoments()
        remaining = _sum_strip(models, data, moments, remaining, options)
        first, second = (*first, *moments.first_names), moments.second_names
        # Only the scores of a strip are kept, because the sums of all strips would exceed the memory budget.
        scores += _pairs(measure, moments)
    return replace(_grid(measure, scores, first, second), names=names, n_rows=len(data))


def _sum_strip(
    models: Sequence[Any], data: Sequence[Any], moments: LayerMoments, names: list[str] | None, options: Any
) -> list[str]:
    """Sum over the inputs for as many layers as fit in memory; return the names of the other layers."""
    chosen: list[str] = []
    for first, second in stream_layers(models, data, **options):
        if not chosen:
            names = list(first) if names is None else names
            chosen = _strip(names, first, second)
        moments.update({name: first[name] for name in chosen}, second)
    assert names is not None
    return names[len(chosen) :]


def _strip(names: list[str], first: Any, second: Any) -> list[str]:
    """Return as many leading layers as fit in memory together with all layers of the other model."""
    widths = {name: int(first[name].shape[1]) for name in names}
    others = [int(layer.shape[1]) for layer in second.values()]
    budget, strip = memory.memory_budget(), list(names)
    while len(strip) > 1 and grid_bytes([widths[name] for name in strip], others) > budget:
        strip.pop()
    return strip


def _grid(measure: Measure, pairs: Iterable[Score], first: tuple[str, ...], second: tuple[str, ...]) -> LayerComparison:
    scores, interrupted = collect(pairs, len(first) * len(second), "pairs of layers", describe=describe_scores)
    done = {(pair_score.first, pair_score.second) for pair_score in scores}
    missing = [name_pair(score_not_reached(measure), (i, j)) for i, j in product(first, second) if (i, j) not in done]
    p_values = holm([pair_score.p_value for pair_score in scores]).tolist()
    corrected = [replace(pair_score, corrected_p_value=p) for pair_score, p in zip(scores, p_values, strict=True)]
    return LayerComparison.untested(first, second, (*corrected, *missing), interrupted=interrupted)


def _pairs(measure: Measure, moments: LayerMoments) -> Iterator[Score]:
    sums, names = moments.sums(), moments.first_names
    sides = [SummedRepresentation(sums, place, precision) for place, precision in enumerate(moments.precisions)]
    for (i, first), (j, other) in product(enumerate(names), enumerate(moments.second_names, len(names))):
        score = score_sums(measure, (sides[i], sides[j]))
        if score.has_value and has_exact_moments(measure) and sums.n_rows >= _FEWEST_ROWS:
            score = add_exact_null(measure, score, sums, (i, j), ALPHA)
        elif score.has_value:
            score = add_note(score, "no chance level: sums over rows give a chance level for kernel alignments only")
        yield name_pair(score, (first, other))
