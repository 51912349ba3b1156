"""Run a comparison with chance levels and intervals in small steps, so that progress can be reported."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import replace
from itertools import repeat

import numpy as np

from shesha.comparison.chance_and_intervals import Evidence, add_note, draw_values
from shesha.comparison.engine import Group, Pair, Skipped, Sources, Stretch, failure, stretches
from shesha.measures import Measure
from shesha.results import PairScore, Score
from shesha.support.types import Index, Vector

Step = PairScore | None
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
) -> Iterator[PairScore]:
    """Yield the finished scores of a group; each pair has its own permutations. Put draws into `nulls`."""
    finished = {}
    for stretch in stretches([group], sources, {}, budget):
        for step in _steps(stretch, evidence, nulls, orders_of):
            if step is not None:
                finished[step.score.measure, step.first, step.second] = step
    yield from finished.values()


def _steps(stretch: Stretch, evidence: Evidence, nulls: Nulls, orders_of: OrdersOf | None = None) -> Iterator[Step]:
    has_null = {measure.name: measure.paired for measure in stretch.group.measures}
    scores_of_pairs: dict[Pair, dict[str, Score]] = {pair: {} for pair in stretch.pairs}
    for pair_score in stretch.scores():
        if not pair_score.score.has_value:
            yield pair_score
            continue
        pair = pair_score.first, pair_score.second
        if any(side.n_rows != evidence.n_rows for side in stretch.sides[pair]):
            yield PairScore(*pair, add_note(pair_score.score, _NOT_INPUTS))
            continue
        scores_of_pairs[pair][pair_score.score.measure] = pair_score.score
        yield PairScore(
            *pair, add_note(pair_score.score, _BEFORE_BOTH if has_null[pair_score.score.measure] else _BEFORE_INTERVAL)
        )
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
        yield PairScore(*pair, add_note(score, _BEFORE_CHANCE) if measure.paired else score)
    paired = [measure for measure in measures if measure.paired]
    for together in evidence.passes(paired, stretch.sides[pair]):
        with_chance = yield from _add_chances(stretch, pair, together, scores, evidence, nulls)
        for score in with_chance:
            yield PairScore(*pair, score)


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
