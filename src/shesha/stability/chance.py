"""Is a stability score above what unrelated halves would give?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shesha import _validate as check
from shesha._memory import memory_budget
from shesha._progress import track
from shesha._random import Seed, generator, spawn
from shesha.kernels import halves as halves_kernel
from shesha.kernels import sampled
from shesha.kernels.distances import Metric, rounding_level
from shesha.kernels.permuted import permuted_products
from shesha.kernels.threads import parallel, single_threaded_blas
from shesha.nulls.summary import summarise
from shesha.results import Chance
from shesha.stability.estimate import prepared
from shesha.stability.evidence import Request
from shesha.stability.feature import directed, frame_of, rows_of
from shesha.stability.split_estimator import (
    FEWEST_PAIRS,
    Draw,
    draw_plan,
    draw_sampler,
    estimate_split,
    exact_bytes,
    inner_metric,
    reader,
)
from shesha.views import RankedRdm

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Index = NDArray[np.intp]

NULL_PAIRS = 100_000
"""Pairs per matching when all do not fit the memory budget: each matching reads them anew."""


def chance(
    X: ArrayLike,
    y: ArrayLike | None = None,
    variant: str = "feature_split",
    *,
    n_permutations: int = 200,
    alpha: float = 0.05,
    pairs: int | None = None,
    seed: Seed = None,
    **options: Any,
) -> Chance:
    """Compare a score with its distribution when nothing links what it correlates.

    For the split scores the rows of the second half are matched with those of the first at random;
    for the supervised scores the labels are shuffled.

    A split score averages partitions that share features, and matching breaks this tie: averaged
    over as many partitions the null would be too narrow (false positives at 13 % instead of 5 % with
    30 partitions). So each matching is scored on the number of partitions, one or two, whose average
    spreads as much as the score does when features are independent, or a little more.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        At least 4 rows; may be a memory-mapped file.
    y : array of shape (n_samples,), optional
        Class labels, for the supervised variants.
    variant : str
        As for `estimate`.
    n_permutations : int
        Random matchings K; at least 1 / alpha - 1, or no score could ever be significant.
    alpha : float
        Level of the threshold, in (0, 1).
    pairs : int, optional
        Use this many random pairs of rows for the score and for each matching (split scores). Beyond the
        memory budget the default is 1,000,000 for the score and 100,000 for each matching.
    seed : int, Generator or None
        One seed gives `observed` the value of `estimate` with that seed.
    **options
        As for `estimate`.

    Returns
    -------
    Chance
        Chance level (mean of the null), threshold (order statistic, never interpolated), p-value
        (add-one, so never 0), and the score corrected to be 0 at the threshold and 1 at its maximum.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> signal = chance(rng.standard_normal((60, 5)) @ rng.standard_normal((5, 32)), seed=0)
    >>> round(signal.p_value, 3), abs(signal.level) < 0.01
    (0.005, True)
    >>> bool(chance(rng.standard_normal((60, 32)), seed=0).p_value > 0.05)
    True
    """
    check.count(n_permutations, "n_permutations")
    check.fraction(alpha, "alpha", closed=False)
    if n_permutations < 1 / alpha - 1 - 1e-9:
        raise ValueError(f"n_permutations must be at least 1 / alpha - 1 = {1 / alpha - 1:g}, got {n_permutations}")
    name, estimator, request = prepared(X, y, variant, options, n_bootstrap=0, target_se=None, pairs=pairs, seed=seed)
    if request.codes is not None:
        observed, null, reason = _shuffled_labels(estimator, request, n_permutations)
    elif pairs is not None or exact_bytes(len(request.X), 2) > memory_budget():
        observed, null, reason = _matched_pairs(name, request, n_permutations)
    else:
        observed, null, reason = _matched_rows(name, request, n_permutations)
    return _summary(name, request, observed, null, alpha, reason)


def _summary(name: str, request: Request, observed: float, null: Vector, alpha: float, reason: str) -> Chance:
    lost = int(np.isnan(null).sum())
    if observed != observed or lost:
        reason = reason or f"{lost} of {len(null)} matchings gave no score"
        observed, null = float("nan"), np.full(len(null), np.nan)
    maximum = None if name == "class_separation_ratio" else 1.0
    found = None if observed != observed else summarise(observed, null, "higher", alpha, maximum)
    nan = float("nan")
    return Chance(
        variant=name,
        observed=observed,
        level=found.null_mean if found else nan,
        spread=float(null.std(ddof=1)) if found and len(null) > 1 else nan,
        threshold=found.threshold if found else nan,
        p_value=found.p_value if found else nan,
        corrected=found.score if found else nan,
        alpha=alpha,
        n_permutations=len(null),
        n_samples=request.X.shape[0],
        null=tuple(map(float, null)),
        reason=reason,
        options={**request.options, "seed": request.seed if isinstance(request.seed, int) else None},
    )


def partitions_per_matching(n_features: int, n_draws: int) -> int:
    """Number of partitions whose average under random matching spreads at least as much as the score's.

    Two halves correlate through pairs of features that lie in different ones; a given pair does with
    probability p, so the scores of two partitions of independent features have correlation p. Under
    matching the pair (a, b) differs from (b, a), which leaves p / 2. Equating the variance of the means,
    p + (1 - p) / n_draws = p / 2 + (1 - p / 2) / m, and rounding m down gives the number.
    """
    half = n_features // 2
    p = half * (n_features - half) / (n_features * (n_features - 1) / 2)
    return max(1, int((1 - p / 2) / (p / 2 + (1 - p) / n_draws) + 1e-9))


def _matched_rows(name: str, request: Request, n_permutations: int) -> tuple[float, Vector, str]:
    """Every matching correlates all pairs; ranks are computed once per partition."""
    metric: Metric = request.options["metric"]
    rows = rows_of(name, directed(check.finite(request.X), metric), metric)
    n, level = len(rows), rounding_level(rows, metric)
    with single_threaded_blas():
        halves = halves_kernel.halves(rows, inner_metric(name, metric), frame_of(name, rows))
    next_draw = draw_sampler(name, rows.shape[1], generator(request.seed))
    draws = [next_draw() for _ in range(request.options["n_draws"])]

    def views(draw: Draw) -> tuple[RankedRdm, RankedRdm]:
        return halves.visit(
            draw,
            lambda found: (
                RankedRdm.of_distances(found.first, n, level, found.defined()),
                RankedRdm.of_distances(found.second, n, level, found.defined()),
            ),
        )

    together = partitions_per_matching(rows.shape[1], len(draws))
    orders = _orders(n, n_permutations, request)
    # Matchings take turns through the partitions, so that the null is that of a typical one.
    turns = [(start, start + together) for start in range(0, len(draws), together)]
    scores: list[float] = []
    null = np.full(n_permutations, np.nan)
    waiting: list[int] = []
    usable: list[tuple[RankedRdm, RankedRdm]] = []
    for turn, (start, stop) in track(enumerate(turns), len(turns), "matchings"):
        found = [pair for pair in parallel(views, draws[start:stop]) if not _constant(*pair)]
        scores += [first.inner(second) for first, second in found]
        waiting += range(turn, n_permutations, len(turns))
        if found:
            usable = found
        # Partitions without a score leave their matchings to the next that have one, or to the last that had.
        if usable and (found or turn == len(turns) - 1):
            matched = [orders[k] for k in waiting]
            null[waiting] = np.mean([permuted_products(a.ranks, b.ranks, n, matched) for a, b in usable], axis=0)
            waiting = []
    if not scores:
        return float("nan"), null, "all distances are equal within a half, in every draw"
    return float(np.mean(scores)), null, ""


def _constant(*views: RankedRdm) -> bool:
    return any(np.isnan(view.ranks[0]) for view in views)


def _matched_pairs(name: str, request: Request, n_permutations: int) -> tuple[float, Vector, str]:
    """Every matching compares fresh sampled pairs with the second half of the pairs that they are matched with."""
    found = estimate_split(name, request)
    n, n_features = request.X.shape[0], request.X.shape[1]
    inner, rows = inner_metric(name, request.options["metric"]), reader(request.X, request.options["metric"], name)
    next_draw = draw_sampler(name, n_features, generator(request.seed))
    draws = [next_draw() for _ in range(request.options["n_draws"])]
    together = partitions_per_matching(n_features, len(draws))
    per_draw = max(FEWEST_PAIRS, (request.pairs or NULL_PAIRS) // together)

    def score(task: tuple[int, np.random.Generator]) -> float:
        turn, rng = task
        partners = rng.permutation(n)
        scores = []
        for k in range(together):
            plan = draw_plan(name, n_features, _restarted(draws[(turn * together + k) % len(draws)]))
            pairs = sampled.draw_pairs(n, per_draw, rng)
            scores.append(sampled.score(rows, n_features, pairs, inner, plan, partners).score)
        return float(np.nanmean(scores)) if np.isfinite(scores).any() else float("nan")

    tasks = list(enumerate(spawn(request.seed, 3).spawn(n_permutations)))
    null = np.array(list(track(parallel(score, tasks), n_permutations, "matchings")))
    return found.value, null, found.reason


def _restarted(draw: Draw) -> Draw:
    """Return a generator in its first state: a rotation serves many matchings."""
    if not isinstance(draw, np.random.Generator):
        return draw
    return np.random.default_rng(cast("np.random.SeedSequence", draw.bit_generator.seed_seq))


def _shuffled_labels(
    estimator: Callable[[Request], Any], request: Request, n_permutations: int
) -> tuple[float, Vector, str]:
    found = estimator(request)
    assert request.codes is not None
    rng = spawn(request.seed, 3)
    null = []
    for _ in track(range(n_permutations), n_permutations, "matchings"):
        shuffled = Request(**{**vars(request), "codes": rng.permutation(request.codes)})
        null.append(estimator(shuffled).value)
    return found.value, np.array(null), found.reason


def _orders(n: int, n_permutations: int, request: Request) -> list[Index]:
    rng = spawn(request.seed, 3)
    return [rng.permutation(n) for _ in range(n_permutations)]
