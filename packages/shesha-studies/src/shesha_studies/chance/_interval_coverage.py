"""How often intervals contain the mean over samples: of similarities, and of scores of one representation."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from shesha.comparison.engine import Evidence, Group, group_by_view
from shesha.measures import Measure
from shesha.nulls import exchange
from shesha.results import Score
from shesha.stability import list_variants
from shesha.stability.estimate import as_estimate
from shesha.stability.evaluation import build_request, evaluate
from shesha.support.types import Labels, Matrix
from shesha.views import Representation
from shesha_studies.measures_of_stored_rows import measure_of_stored_rows

Rng = np.random.Generator
RANK, CLUSTERS, CLASSES = 4, 8, 4
STRENGTHS = {"independent": 0.0, "weak": 0.5, "strong": 2.0, "weak, t(3)": 0.5, "strong, t(3)": 2.0}


def pair(data: str, n: int, d: int, rng: Rng) -> list[Matrix]:
    """Draw n rows of two representations with a fixed mixture of the shared part, or fixed clusters."""
    fixed = np.random.default_rng([n, d])
    mixing = fixed.standard_normal((2, RANK, d)) / np.sqrt(RANK)
    centres = 1.5 * fixed.standard_normal((2, CLUSTERS, d))
    if data == "clusters":
        cluster = rng.integers(0, CLUSTERS, n)
        return [where[cluster] + rng.standard_normal((n, d)) for where in centres]
    draw = _noise(rng, "t(3)" in data)
    shared = STRENGTHS[data] * draw((n, RANK))
    return [shared @ matrix + draw((n, d)) for matrix in mixing]


def _noise(rng: Rng, heavy: bool) -> Callable[[tuple[int, int]], Matrix]:
    return lambda size: np.asarray(rng.standard_t(3, size) if heavy else rng.standard_normal(size))


def one(data: str, n: int, d: int, rng: Rng) -> tuple[Matrix, Labels]:
    """Draw n rows of a representation, with their labels or groups."""
    fixed = np.random.default_rng(d)
    if data.endswith("classes"):
        shares = np.arange(1, CLASSES + 1) / np.arange(1, CLASSES + 1).sum()
        y = np.searchsorted(np.cumsum(shares), (np.arange(n) + 0.5) / n if "fixed" in data else rng.random(n))
        return 0.7 * fixed.standard_normal((CLASSES, d))[y] + rng.standard_normal((n, d)), y
    if data.endswith("donors"):
        n_donors = int(data.split()[0])
        donor = np.arange(n) * n_donors // n
        latent = rng.standard_normal((n_donors, RANK))[donor] + 0.7 * rng.standard_normal((n, RANK))
        return latent @ fixed.standard_normal((RANK, d)) + rng.standard_normal((n, d)), donor
    if data == "clusters":
        cluster = rng.integers(CLUSTERS, size=n)
        return 1.5 * fixed.standard_normal((CLUSTERS, d))[cluster] + rng.standard_normal((n, d)), np.arange(n)
    copies = 2 if data == "each row twice" else 1
    draw, mixing = _noise(rng, data == "t(3)"), fixed.standard_normal((RANK, d))
    X = draw((n // copies, RANK)) @ mixing + draw((n // copies, d))
    scales = np.geomspace(1, 10, d) if data == "unequal scales" else 1.0
    return np.repeat(X * scales, copies, axis=0), np.repeat(np.arange(n // copies), copies)


LEVELS = (0.9, 0.95)
N_TRUTH = {"similarities": 200, "scores": 150}
"""Numbers of samples from which true means are computed; their errors are below a tenth of the standard deviation of
one sample."""
NAMES = (
    "CKA; unbiased CKA; RV; DistCorr; RSA; RSMDiff; mutual kNN; Jaccard; CKNNA; CCA; SVCCA; PWCCA; LinReg; GULP; EOS; "
    "subspace overlap; OrthProc; ProcDist; SoftCorr; HardCorr; MagDiff; ConcDiff; UnifDiff; IMD; MMD; "
    "eigenspectrum similarity"
)
LABEL_SCORES = tuple(found.name for found in list_variants().values() if found.audited and found.needs_labels)
Ends = dict[str, list[tuple[float, float]]]


@cache
def _measures() -> tuple[list[Measure], list[Group]]:
    chosen = [measure_of_stored_rows(name.strip()).with_seed(0) for name in NAMES.split(";")]
    return chosen, group_by_view(chosen, {measure.name: [("X", "Y")] for measure in chosen})


def _stored_name(measure: Measure) -> str:
    return measure.name.removesuffix("(metric=dot)")


def _values(sides: list[Representation]) -> dict[str, float]:
    """Return the value of each measure; NaN if it cannot be computed."""
    values = {}
    for measure in _measures()[0]:
        try:
            values[_stored_name(measure)] = measure.compare_views(*(measure.look(side) for side in sides))
        except Exception:
            values[_stored_name(measure)] = float("nan")
    return values


@cache
def similarity_truth(data: str, n: int, d: int) -> dict[str, float]:
    """Return the mean of each measure over samples that are not used for intervals."""
    samples = [pair(data, n, d, np.random.default_rng([0, i, n, d])) for i in range(N_TRUTH["similarities"])]
    lines = [_values([Representation.build(side) for side in sample]) for sample in samples]
    return {name: float(np.mean([line[name] for line in lines])) for name in lines[0]}


def similarity_ends(data: str, n: int, d: int, run: int) -> Ends:
    """Return the ends of the intervals at both levels, for measures that have intervals."""
    sides = [Representation.build(side) for side in pair(data, n, d, np.random.default_rng([1, run, n, d]))]
    evidence = [Evidence.draw(n, 19, 0.05, level, run) for level in LEVELS]
    known, values = _values(sides), {}
    for group in _measures()[1]:
        table = np.array(list(evidence[0].score_subsets(group, group.measures, (sides[0], sides[1]))))
        for measure, column in zip(group.measures, table.T, strict=True):
            low, high = map(float, measure.bounds)
            name = _stored_name(measure)
            score = Score(
                name=name, family="", value=known[name], closer=measure.closer, possible_low=low, possible_high=high
            )
            added = [source.add_interval(score, column) for source in evidence]
            if score.has_value and np.isfinite(added[0].low):
                values[name] = [(estimate.low, estimate.high) for estimate in added]
    return values


@cache
def score_truth(data: str, n: int, d: int, declared: str, score: str) -> dict[str, float]:
    """Return the mean of each score over other samples and over partitions."""
    samples = range(N_TRUTH["scores"] if n < 1000 else N_TRUTH["scores"] // 4)
    lines = [_scores(data, n, d, declared, score, [0, run, n, d], 10_000 + run, n_bootstrap=0) for run in samples]
    return {name: float(np.nanmean([line[name][0] for line in lines])) for name in lines[0]}


def score_ends(data: str, n: int, d: int, declared: str, score: str, run: int) -> Ends:
    """Return the ends of the intervals of `estimate` at both levels, if they are finite."""
    found = _scores(data, n, d, declared, score, [1, run, n, d], run, n_bootstrap=100)
    return {name: ends for name, (value, ends) in found.items() if np.isfinite([value, *np.ravel(ends)]).all()}


def _scores(
    data: str, n: int, d: int, grouping: str, score: str, key: list[int], seed: int, *, n_bootstrap: int
) -> dict[str, tuple[float, list[tuple[float, float]]]]:
    """Value of each score, and the ends of its intervals if there are resamples."""
    X, codes = one(data, n, d, np.random.default_rng(key))
    labelled, pairs = score == "label scores", 50_000 if n >= 1000 else None
    options: dict[str, Any] = {grouping.rstrip("="): codes}
    design = None if grouping == "-" else exchange(n, **options)
    found = {}
    for variant in LABEL_SCORES if labelled else (score,):
        request = build_request(
            X,
            codes if labelled else None,
            variant,
            {} if n_bootstrap or labelled or pairs else {"n_draws": 4},
            n_bootstrap=n_bootstrap,
            pairs=pairs,
            seed=seed,
            design=design,
        )
        evidence = evaluate(request)
        intervals = [as_estimate(request, evidence, level) for level in LEVELS] if n_bootstrap else []
        found[variant] = evidence.value, [(interval.low, interval.high) for interval in intervals]
    return found
