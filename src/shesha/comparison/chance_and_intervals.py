"""Add chance levels and intervals to the scores of a comparison."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import repeat

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import t

from shesha.calibration import shared, side_by_side
from shesha.calibration.permutation_scores import Outcome, null_view
from shesha.comparison.engine import Group, Pair, Sides, Skipped, Sources, Stretch, failure, stretches
from shesha.inputs import validation as check
from shesha.measures import Measure
from shesha.nulls.design_builder import exchange
from shesha.nulls.null_summary import best_value, max_statistic_p_values, summarise
from shesha.nulls.permutations import Design, draw_permutations, nonempty_arguments
from shesha.nulls.restricted_permutations import Exchange
from shesha.results import Number, Score
from shesha.support.seeds import number, spawn
from shesha.support.types import Index, Seed, Vector
from shesha.support.warnings import NotEstimable
from shesha.views import View

N_SUBSETS = 50
"""Number of subsets per interval; twice as many would not improve the coverage."""
LEFT_OUT = 0.2
"""Share of the rows that each subset leaves out.

With a smaller share, scores based on neighbours or ranks would vary in discrete steps. With a larger share, scores that
depend on the number of rows per feature would differ too much from the score of all rows.
"""


FEWEST_CLUSTERS = 5
"""Minimum number of groups for an interval; with fewer, subsets would omit more than a fifth of them."""


def draw_subsets(n: int, rng: np.random.Generator) -> tuple[Index, ...]:
    """Draw subsets of four fifths of n rows, without replacement and in their original order."""
    return tuple(np.sort(rng.choice(n, n_kept(n), replace=False)) for _ in range(N_SUBSETS))


def draw_clusters(clusters: Index, rng: np.random.Generator) -> tuple[Index, ...]:
    """Draw subsets of four fifths of the clusters (groups or stretches, coded from 0); return their rows."""
    return tuple(
        np.flatnonzero(np.isin(clusters, clusters_kept)) for clusters_kept in draw_subsets(int(clusters.max()) + 1, rng)
    )


def n_kept(n: int) -> int:
    """Return how many of n rows or clusters a subset contains."""
    return n - max(1, round(LEFT_OUT * n))


def interval(
    value: float,
    on_subsets: Vector,
    shares: tuple[int, int],
    confidence: float,
    bounds: tuple[float, float],
    *,
    clustered: bool = False,
) -> tuple[float, float]:
    """Return the interval of a value from its scores on subsets of m of n rows; `shares` is (m, n).

    This is the delete-d jackknife: scores on random subsets of m out of n rows have (n - m) / m times the variance of
    scores on independent samples of n rows. Student's t has one degree of freedom less than there are subsets, or
    clusters if these are fewer.
    """
    m, n = shares
    spread = on_subsets.std(ddof=1) * np.sqrt(m / (n - m))
    freedom = min(len(on_subsets), n) - 1 if clustered else len(on_subsets) - 1
    half = float(t.ppf(0.5 + confidence / 2, freedom) * spread)
    # Rounding may put the value itself slightly outside its bounds.
    return min(value, max(value - half, bounds[0])), max(value, min(value + half, bounds[1]))


_PERMUTING, _LEAVING_OUT = 11, 12
_FLAT = 1e-6
"""Relative spread of the subset scores below which there is no interval.

For example, if there are no more rows than features, every subset is fitted perfectly.
"""

_KNOWN = 0.9
"""Minimum share of subsets that must have a score for an interval to be computed."""


@dataclass(frozen=True)
class Evidence:
    """Permutations and subsets of the rows that all measures and pairs share."""

    n_rows: int
    orders: tuple[Index, ...]
    subsets: tuple[Index, ...]
    alpha: float
    confidence: float
    exchanged: str = "all rows"
    n_clusters: int | None = None
    """Number of groups or stretches, which subsets leave out as a whole; None if rows are independent."""

    @classmethod
    def draw(
        cls,
        n: int,
        n_permutations: int,
        alpha: float,
        confidence: float | None,
        seed: Seed,
        *,
        design: Design | Exchange | None = None,
        permutations: ArrayLike | None = None,
    ) -> Evidence:
        """Draw permutations and subsets with one seed."""
        # If the seed is an integer, `calibrate` draws the same permutations and thus returns the same p-values.
        permutation_seed = seed if number(seed) is not None else spawn(seed, _PERMUTING)
        orders, exchanged = draw_permutations(
            n, n_permutations, alpha, design=design, permutations=permutations, seed=permutation_seed
        )
        exchanged_rows = design if isinstance(design, Exchange) else exchange(n, **nonempty_arguments(design))
        return replace(
            cls.draw_subsets(exchanged_rows, alpha, confidence, seed), orders=tuple(orders), exchanged=exchanged
        )

    @classmethod
    def draw_subsets(cls, design: Exchange, alpha: float, confidence: float | None, seed: Seed) -> Evidence:
        """Draw subsets only (none without `confidence`); permutations are drawn separately for each pair."""
        n = design.n_rows
        if confidence is None:
            return cls(n, (), (), alpha, np.nan, design.text)
        check.fraction(confidence, "confidence", closed=False)
        clusters, rng = design.clusters, spawn(seed, _LEAVING_OUT)
        n_clusters = int(clusters.max()) + 1
        if n_clusters == n:
            return cls(n, (), draw_subsets(n, rng), alpha, confidence, design.text)
        return cls(n, (), draw_clusters(clusters, rng), alpha, confidence, design.text, n_clusters)

    def passes(self, measures: Sequence[Measure], sides: Sides) -> list[list[Measure]]:
        """Divide the measures of a group into sets that can be computed in one pass over the draws."""
        if not measures:
            return []
        a, b = (measures[0].look(side) for side in sides)
        return shared(measures, a, null_view(measures[0], sides[1], b))

    def draws(self, measures: Sequence[Measure], sides: Sides) -> Iterator[list[Outcome]]:
        """Yield the observed scores of measures that share a pass, then their scores for each permutation."""
        a, b = (measures[0].look(side) for side in sides)
        yield from side_by_side(measures, a, null_view(measures[0], sides[1], b), self.orders)

    def add_chance(self, measure: Measure, score: Score, draws: Vector) -> Score:
        """Add the chance level, the p-value and the calibrated score."""
        best = best_value(measure.closer, measure.bounds, None)
        return add_null(score, summarise(float(draws[0]), draws[1:], measure.closer, self.alpha, best))

    def score_subsets(self, group: Group, measures: Sequence[Measure], sides: Sides) -> Iterator[list[float]]:
        """Yield the scores of the measures on each subset of the rows; the measures share their views."""

        narrow = [measures[0].narrow(side) for side in sides]

        def scores(subset: Index) -> list[float]:
            try:
                views = [measures[0].look(side.take_rows(subset)) for side in narrow]
            except NotEstimable:
                return [np.nan] * len(measures)
            return [_value_or_nan(measure, *views) for measure in measures]

        kind, options = measures[0].view_key
        first, second = (kind.build_subsets(side, self.subsets, **dict(options)) for side in narrow)
        if first is not None and second is not None:
            yield from (
                [_value_or_nan(measure, a, b) for measure in measures] for a, b in zip(first, second, strict=True)
            )
            return
        yield from group.side_by_side(scores, self.subsets, narrow)

    def add_interval(self, score: Score, on_subsets: Vector, estimates: tuple[float, float] | None = None) -> Score:
        """Add the interval to a score, or a note that explains why there is none."""
        if self.n_clusters is not None and self.n_clusters < FEWEST_CLUSTERS:
            needed = f"an interval needs at least {FEWEST_CLUSTERS} groups"
            return add_note(score, f"no interval: {needed}, got {self.n_clusters}")
        known = on_subsets[np.isfinite(on_subsets)]
        if len(known) < _KNOWN * len(on_subsets):
            return add_note(
                score, f"no interval: only {len(known)} of {len(on_subsets)} random subsets of the rows have a value"
            )
        if known.std() < _FLAT * abs(known.mean() - score.value):
            return add_note(score, f"no interval: the value is {known[0]:.4g} on every random subset of the rows")
        n, clustered = self.n_clusters or self.n_rows, self.n_clusters is not None
        bounds = score.possible_low, score.possible_high
        low, high = interval(score.value, known, (n_kept(n), n), self.confidence, bounds, clustered=clustered)
        if estimates is not None and high - low > estimates[1] - estimates[0]:
            wide = f"the width would be {high - low:.3g}, more than the range of the estimated quantity"
            return add_note(
                score, f"no interval: {wide}, {estimates[0]:g} to {estimates[1]:g}. Use more rows or features"
            )
        return replace(score, low=low, high=high)


def worst_and_best(score: Score) -> tuple[float, float]:
    """Return the values for no and for perfect agreement."""
    ends = score.possible_low, score.possible_high
    return ends if score.closer == "higher" else ends[::-1]


def draw_values(draws: Sequence[Outcome]) -> Vector:
    """Return the observed score and the score of each draw as an array; raise an error if any draw failed."""
    for draw in draws:
        if isinstance(draw, Exception):
            raise draw
    return np.array(draws, dtype=np.float64)


def correct_p_values(scores: Iterable[Score], nulls: Mapping[tuple[str, tuple[str, str]], Vector]) -> list[Score]:
    """Correct the p-values for the number of scores that have a null distribution."""
    pair_scores = list(scores)
    keys = [(pair_score.name, (pair_score.first, pair_score.second)) for pair_score in pair_scores]
    tested = [
        place
        for place, (pair_score, key) in enumerate(zip(pair_scores, keys, strict=True))
        if pair_score.has_null and key in nulls
    ]
    corrected = max_statistic_p_values(
        [nulls[keys[place]] for place in tested], [pair_scores[place].closer for place in tested]
    )
    for place, p_value in zip(tested, corrected.tolist(), strict=True):
        pair_scores[place] = replace(pair_scores[place], corrected_p_value=p_value)
    return pair_scores


def add_null(score: Score, summary: Number) -> Score:
    """Add the summary of a null distribution to a score."""
    return replace(score, **summary.evidence())


def add_note(score: Score, note: str) -> Score:
    """Add a note to the score."""
    return replace(score, notes=(*score.notes, note))


def require_calibrate(design: Design, permutations: ArrayLike | None) -> None:
    """Refuse design options and permutations if `calibrate` is False."""
    arguments = [*nonempty_arguments(design), *(["permutations"] if permutations is not None else [])]
    if arguments:
        raise ValueError(f"calibrate must be True with {' and '.join(arguments)}, got False")


def _value_or_nan(measure: Measure, a: View, b: View) -> float:
    try:
        return measure.compare_views(a, b)
    except Exception:  # The score of all rows reports the cause.
        return float("nan")


Step = Score | None
"""A finished score, or None for a step that completes no score."""
Nulls = dict[tuple[str, Pair], Vector]
"""For each measure and pair, the observed score followed by the score of each draw."""
OrdersOf = Callable[[Pair], Sequence[Index]]
_NOT_INPUTS = "no interval and no chance level: the compared rows are tokens or positions, not inputs"
_BEFORE_BOTH = "interrupted before the interval and the chance level were computed"
_BEFORE_INTERVAL = "interrupted before the interval was computed"
_BEFORE_CHANCE = "interrupted before the chance level was computed"


def n_steps(groups: Sequence[Group], evidence: Evidence) -> int:
    """Return the number of steps that `run` yields."""
    return sum(_n_steps(group, group.all_pairs, evidence) for group in groups)


def _n_steps(group: Group, pairs: Sequence[Pair], evidence: Evidence) -> int:
    chosen = set(pairs)
    n_scores = [len(chosen.intersection(compared)) for compared in group.pairs]
    n_nulls = sum(n for n, measure in zip(n_scores, group.measures, strict=True) if measure.paired)
    # Each score is yielded first without and then with its interval. A null adds steps for the observed score, each
    # draw, and the score with its chance level.
    return 2 * sum(n_scores) + len(pairs) * len(evidence.subsets) + n_nulls * (len(evidence.orders) + 2)


def run(
    groups: Sequence[Group], sources: Sources, skipped: Skipped, evidence: Evidence, nulls: Nulls
) -> Iterator[Step]:
    """Yield each score when it is complete and None for each draw in between; put the draws into `nulls`.

    A later score for the same measure and pair replaces the earlier one. If the run is interrupted, the earlier score
    remains, with a note on what it lacks.
    """
    for stretch in stretches(groups, sources, skipped):
        remaining = _n_steps(stretch.group, stretch.pairs, evidence)
        for step in _steps(stretch, evidence, nulls):
            remaining -= 1
            yield step
        # Scores without a value need no draws, so these steps are counted as done.
        yield from repeat(None, remaining)


def run_pairs(
    group: Group, sources: Sources, evidence: Evidence, orders_of: OrdersOf, nulls: Nulls, budget: int
) -> Iterator[Score]:
    """Yield the finished scores of a group; each pair has its own permutations. Put draws into `nulls`."""
    finished = {}
    for stretch in stretches([group], sources, {}, budget):
        for step in _steps(stretch, evidence, nulls, orders_of):
            if step is not None:
                finished[step.name, step.first, step.second] = step
    yield from finished.values()


def _steps(stretch: Stretch, evidence: Evidence, nulls: Nulls, orders_of: OrdersOf | None = None) -> Iterator[Step]:
    has_null = {measure.name: measure.paired for measure in stretch.group.measures}
    scores_of_pairs: dict[Pair, dict[str, Score]] = {pair: {} for pair in stretch.pairs}
    for pair_score in stretch.scores():
        if not pair_score.has_value:
            yield pair_score
            continue
        pair = pair_score.first, pair_score.second
        if any(side.n_rows != evidence.n_rows for side in stretch.sides[pair]):
            yield add_note(pair_score, _NOT_INPUTS)
            continue
        scores_of_pairs[pair][pair_score.name] = pair_score
        yield add_note(pair_score, _BEFORE_BOTH if has_null[pair_score.name] else _BEFORE_INTERVAL)
    for pair, scores in scores_of_pairs.items():
        measures = [measure for measure in stretch.group.measures if measure.name in scores]
        if measures:
            pair_evidence = evidence if orders_of is None else replace(evidence, orders=tuple(orders_of(pair)))
            yield from _pair_steps(stretch, pair, measures, scores, pair_evidence, nulls)


def _pair_steps(
    stretch: Stretch,
    pair: Pair,
    measures: list[Measure],
    scores: dict[str, Score],
    evidence: Evidence,
    nulls: Nulls,
) -> Iterator[Step]:
    scores = yield from _add_intervals(stretch, pair, measures, scores, evidence)
    for measure in measures:
        score = scores[measure.name]
        yield add_note(score, _BEFORE_CHANCE) if measure.paired else score
    paired = [measure for measure in measures if measure.paired]
    for together in evidence.passes(paired, stretch.sides[pair]):
        with_chance = yield from _add_chances(stretch, pair, together, scores, evidence, nulls)
        yield from with_chance


def _add_intervals(
    stretch: Stretch, pair: Pair, measures: list[Measure], scores: dict[str, Score], evidence: Evidence
) -> Generator[None, None, dict[str, Score]]:
    if not evidence.subsets:
        return scores
    table = []
    try:
        for row in evidence.score_subsets(stretch.group, measures, stretch.sides[pair]):
            table.append(row)
            yield
    except Exception as error:  # The scores remain valid without an interval.
        return {name: add_note(score, f"no interval: {failure(error)}") for name, score in scores.items()}
    columns = np.array(table).T
    return {
        measure.name: evidence.add_interval(scores[measure.name], column, measure.estimates)
        for measure, column in zip(measures, columns, strict=True)
    }


def _add_chances(
    stretch: Stretch,
    pair: Pair,
    measures: list[Measure],
    scores: dict[str, Score],
    evidence: Evidence,
    nulls: Nulls,
) -> Generator[None, None, list[Score]]:
    """Add chance levels to the scores of all these measures in one pass over the draws."""
    known = [scores[measure.name] for measure in measures]
    draws = []
    try:
        for draw in evidence.draws(measures, stretch.sides[pair]):
            draws.append(draw)
            yield from repeat(None, len(measures))
    except Exception as error:  # The scores remain valid without a chance level.
        return [add_note(score, f"no chance level: {failure(error)}") for score in known]
    results = []
    for measure, score, column in zip(measures, known, zip(*draws, strict=True), strict=True):
        try:
            values = draw_values(column)
            results.append(evidence.add_chance(measure, score, values))
            nulls[measure.name, pair] = values
        except Exception as error:  # The score remains valid without a chance level.
            results.append(add_note(score, f"no chance level: {failure(error)}"))
    return results
