"""Add chance levels and intervals to the scores of a comparison."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import ArrayLike

from shesha.calibration import shared, side_by_side
from shesha.calibration.permutation_scores import Outcome, null_view
from shesha.comparison._subset_intervals import FEWEST_CLUSTERS, draw_clusters, draw_subsets, interval, n_kept
from shesha.comparison.engine import Group, Sides
from shesha.inputs import validation as check
from shesha.measures import Measure
from shesha.nulls.design_builder import exchange
from shesha.nulls.max_statistic import max_statistic_p_values
from shesha.nulls.null_summary import best_value, summarise
from shesha.nulls.permutations import Design, draw_permutations, nonempty_arguments
from shesha.nulls.restricted_permutations import Exchange
from shesha.results import NullComparison, PairScore, Score
from shesha.support.seeds import number, spawn
from shesha.support.types import Index, Seed, Vector
from shesha.support.warnings import NotEstimable
from shesha.views import View

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
        confidence: float,
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
        return replace(score, interval_low=low, interval_high=high)


def draw_values(draws: Sequence[Outcome]) -> Vector:
    """Return the observed score and the score of each draw as an array; raise an error if any draw failed."""
    for draw in draws:
        if isinstance(draw, Exception):
            raise draw
    return np.array(draws, dtype=np.float64)


def correct_p_values(
    scores: Iterable[PairScore], nulls: Mapping[tuple[str, tuple[str, str]], Vector]
) -> list[PairScore]:
    """Correct the p-values for the number of scores that have a null distribution."""
    pair_scores = list(scores)
    keys = [(pair_score.score.measure, (pair_score.first, pair_score.second)) for pair_score in pair_scores]
    tested = [
        place
        for place, (pair_score, key) in enumerate(zip(pair_scores, keys, strict=True))
        if pair_score.score.has_null and key in nulls
    ]
    corrected = max_statistic_p_values(
        [nulls[keys[place]] for place in tested], [pair_scores[place].score.closer for place in tested]
    )
    for place, p_value in zip(tested, corrected.tolist(), strict=True):
        pair_score = pair_scores[place]
        pair_scores[place] = replace(pair_score, score=replace(pair_score.score, corrected_p_value=p_value))
    return pair_scores


def add_null(score: Score, summary: NullComparison) -> Score:
    """Add the summary of a null distribution to a score."""
    return replace(score, **{field.name: getattr(summary, field.name) for field in fields(NullComparison)})


def add_note(score: Score, note: str) -> Score:
    """Add a note to the score."""
    return replace(score, note="; ".join(filter(None, (score.note, note))))


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
