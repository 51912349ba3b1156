"""Compare many pairs with many measures, with chance levels and intervals: each view is built once and shared."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import t

from shesha.calibration import shared, side_by_side
from shesha.calibration.permutation_scores import TOGETHER, Outcome, null_view
from shesha.inputs import validation as check
from shesha.kernels.threads import parallel, single_threaded_blas
from shesha.measures import Measure
from shesha.nulls.design_builder import exchange
from shesha.nulls.null_summary import best_value, max_statistic_p_values, summarise
from shesha.nulls.permutations import Design, draw_permutations, nonempty_arguments
from shesha.nulls.restricted_permutations import Exchange
from shesha.results import Number, Score
from shesha.results.number import INTERRUPTED, format_value
from shesha.support import memory, progress
from shesha.support.seeds import number, spawn
from shesha.support.types import Index, Seed, Vector
from shesha.support.warnings import MeasureWarning, NotEstimable, warn
from shesha.views import Features, Representation, View, aligned

Pair = tuple[str, str]
Sides = tuple[Representation, Representation]
Sources = Mapping[str, Representation]
Skipped = Mapping[tuple[str, Pair], str]
"""For measures and pairs that are not compared, the reason why."""
Item = TypeVar("Item")
Result = TypeVar("Result")
_ROUNDING = 1e-9
_COPIES = 4
"""Assumed maximum size of a view, as a multiple of the size of the features."""


@dataclass(frozen=True)
class Group:
    """Measures that use the same view, with the pairs that each compares."""

    measures: tuple[Measure, ...]
    pairs: tuple[tuple[Pair, ...], ...]

    @property
    def all_pairs(self) -> list[Pair]:
        """Every pair that at least one measure compares."""
        return list(dict.fromkeys(pair for pairs in self.pairs for pair in pairs))

    @property
    def leader(self) -> Measure:
        """The measure whose view all others can use: if possible, one that does not allow rotations."""
        return next((measure for measure in self.measures if not measure.rotates), self.measures[0])

    def view_bytes(self, source: Representation, other: Representation | None = None) -> tuple[int, int]:
        """Return the memory of a representation's finished view, and the extra memory to compute it."""
        try:
            return self.leader.view_bytes(source, other)
        except (TypeError, ValueError):
            # An option of the wrong type raises an error when the view is computed.
            return 0, 0

    def side_by_side(
        self, work: Callable[[Item], Result], items: Collection[Item], sides: Iterable[Representation]
    ) -> Iterator[Result]:
        """Apply `work` to each item, in parallel threads if the views of these sides are small."""
        largest = max((sum(self.view_bytes(side)) for side in sides), default=0)
        if largest < TOGETHER:
            # What threads have freed often stays with the process, so each counts twice.
            yield from parallel(work, items, at_once=max(1, memory.memory_budget() // max(1, 2 * largest)))
            return
        with single_threaded_blas():
            yield from map(work, items)


def group_by_view(
    measures: Sequence[Measure], pairs: Mapping[str, Sequence[Pair]], sides: Iterable[Representation] = ()
) -> list[Group]:
    """Group measures that use the same view; groups and measures keep their order.

    If one of the sides is wide, measures that allow rotations use another view than the others.
    """
    wide = any(side.is_wide for side in sides)
    groups: dict[Any, list[Measure]] = {}
    for measure in measures:
        key = (measure.view_key, measure.view.folding, measure.anywhere, wide and measure.rotates)
        groups.setdefault(key, []).append(measure)
    return [
        Group(tuple(measures_of_view), tuple(tuple(pairs[m.name]) for m in measures_of_view))
        for measures_of_view in groups.values()
    ]


def too_large(groups: Sequence[Group], sources: Sources) -> dict[tuple[str, Pair], str]:
    """Find comparisons that would exceed the memory budget before any starts, and warn with the reason."""
    budget = memory.memory_budget()
    reasons: dict[tuple[str, Pair], str] = {}
    left_out: dict[str, str] = {}
    for group in groups:
        for pair in group.all_pairs:
            a, b = (sources[name] for name in pair)
            needs = [group.view_bytes(a, b), group.view_bytes(b, a)]
            need = sum(view_bytes for view_bytes, _ in needs) + max(working for _, working in needs)
            if need > budget:
                reason = (
                    f"needs {memory.format_bytes(need)} of a memory budget of {memory.format_bytes(budget)}: "
                    "pass fewer rows, or raise SHESHA_MEMORY"
                )
                reasons |= {(measure.name, pair): reason for measure in group.measures}
                left_out |= {measure.name: reason for measure in group.measures}
    for reason in dict.fromkeys(left_out.values()):
        names = ", ".join(name for name, why in left_out.items() if why == reason)
        warn(f"left out: {names}: {reason}", MeasureWarning)
    return reasons


def run(groups: Sequence[Group], sources: Sources, skipped: Skipped, budget: int | None = None) -> Iterator[Score]:
    """Yield the scores, one group after another; `budget` limits the memory for the views of a stretch."""
    for stretch in stretches(groups, sources, skipped, budget):
        yield from stretch.scores()


def stretches(
    groups: Sequence[Group], sources: Sources, skipped: Skipped, budget: int | None = None
) -> Iterator[Stretch]:
    """Compute the views for one stretch of pairs at a time; keep small results that several groups share."""
    room = memory.memory_budget() if budget is None else budget
    features = sum(8 * math.prod(source.shape) for source in sources.values())
    keep = Features if _COPIES * features <= room / 4 else None
    try:
        for group in groups:
            for tile in _tiles(group, sources, room):
                stretch = _make_views(group, sources, tile, skipped)
                try:
                    yield stretch
                finally:
                    for side in stretch.unique:
                        side.drop_views(keep=keep)
                    # Callers hold the stretch while the views of the next one are computed.
                    stretch.views.clear()
    finally:
        for source in sources.values():
            source.drop_views()


def _tiles(group: Group, sources: Sources, budget: int) -> Iterator[list[Pair]]:
    """Divide the pairs into stretches whose views fit the budget."""
    needs = {name: group.view_bytes(sources[name]) for name in {name for pair in group.all_pairs for name in pair}}
    working = max((working for _, working in needs.values()), default=0)
    tile: list[Pair] = []
    names: set[str] = set()
    used_bytes = 0
    for pair in group.all_pairs:
        more = sum(needs[name][0] for name in {*pair} - names)
        if tile and used_bytes + more + working > budget:
            yield tile
            tile, names, used_bytes = [], set(), 0
            more = sum(needs[name][0] for name in {*pair})
        tile.append(pair)
        names |= {*pair}
        used_bytes += more
    if tile:
        yield tile


@dataclass(frozen=True)
class _ComputedView:
    """A view of one representation, or the reason why there is none, with its computing time."""

    view: View | None
    reason: str
    seconds: float


@dataclass(frozen=True)
class Stretch:
    """The measures of one group, with pairs whose views are in memory together."""

    group: Group
    pairs: tuple[Pair, ...]
    sides: Mapping[Pair, Sides]
    views: dict[int, _ComputedView]
    """The computed view of each representation, keyed by the `id` of the representation."""
    skipped: Skipped

    @property
    def unique(self) -> list[Representation]:
        """Every side, listed once."""
        return list({id(side): side for both in self.sides.values() for side in both}.values())

    @property
    def tasks(self) -> list[tuple[Measure, Pair]]:
        """The measure and pair of each comparison, one measure after another."""
        chosen = [set(pairs) for pairs in self.group.pairs]
        return [
            (measure, pair)
            for measure, pairs in zip(self.group.measures, chosen, strict=True)
            for pair in self.pairs
            if pair in pairs
        ]

    def scores(self) -> Iterator[Score]:
        """Yield the score of every task, in order."""
        uses = Counter(id(side) for both in self.sides.values() for side in both)

        def compare(task: tuple[Measure, Pair]) -> Score:
            measure, pair = task
            if (measure.name, pair) in self.skipped:
                return name_pair(missing_score(measure, self.skipped[measure.name, pair]), pair)
            a, b = self.sides[pair]
            share = sum(self.views[id(side)].seconds / uses[id(side)] for side in (a, b)) / len(self.group.measures)
            return name_pair(_score_pair(measure, pair, (a, b), (self.views[id(a)], self.views[id(b)]), share), pair)

        yield from parallel(compare, self.tasks)


def _make_views(group: Group, sources: Sources, tile: Sequence[Pair], skipped: Skipped) -> Stretch:
    first = group.measures[0]
    usable = [pair for pair in tile if (first.name, pair) not in skipped]
    sides = {(x, y): aligned(sources[x], sources[y], first.view.folding, anywhere=first.anywhere) for x, y in usable}
    stretch = Stretch(group, tuple(tile), sides, {}, skipped)
    return replace(stretch, views=_compute_views(group, stretch.unique))


def _compute_views(group: Group, sides: list[Representation]) -> dict[int, _ComputedView]:
    measure = group.leader

    def look(side: Representation) -> _ComputedView:
        start = time.perf_counter()
        try:
            view, reason = measure.look(side), ""
        except NotEstimable as why:
            view, reason = None, str(why)
        except Exception as error:  # One measure's failure must not stop the others.
            view, reason = None, failure(error)
        return _ComputedView(view, reason, time.perf_counter() - start)

    computed = group.side_by_side(look, sides, sides)
    return {id(side): look for side, look in zip(sides, computed, strict=True)}


def _score_pair(
    measure: Measure,
    pair: Pair,
    sides: Sides,
    views: tuple[_ComputedView, _ComputedView],
    seconds: float,
) -> Score:
    """Compare two views; if there is no value, return a score with the reason."""
    start = time.perf_counter()

    def score() -> Score:
        if measure.paired and sides[0].n_rows != sides[1].n_rows:
            raise NotEstimable(f"rows do not correspond: {sides[0].n_rows} and {sides[1].n_rows} rows after folding")
        measure.require_comparable(*sides)
        for name, look in zip(pair, views, strict=True):
            if look.reason:
                raise NotEstimable(f"{name}: {look.reason}")
        first, second = (cast(View, look.view) for look in views)
        value = measure.compare_views(first, second)
        expected = math.nan if measure.expected is None else measure.expected(first, second)
        notes = filter(None, [measure.format_remark(first, second) or outside_note(measure, value)])
        found = make_score(measure, value, seconds + time.perf_counter() - start)
        return replace(found, notes=tuple(notes), chance=expected)

    return score_or_reason(measure, score)


def score_or_reason(measure: Measure, score: Callable[[], Score]) -> Score:
    """Return the result of a function, or a score that states why there is none."""
    try:
        found = score()
    except NotEstimable as why:
        return missing_score(measure, str(why))
    except Exception as error:  # One measure's failure must not stop the others.
        return missing_score(measure, failure(error))
    if not math.isfinite(found.value):
        return missing_score(measure, f"the measure returned {found.value} without a reason")
    return found


def outside_note(measure: Measure, value: float) -> str:
    """Return a note if an estimate lies outside the range of its measure."""
    low, high = measure.estimates or measure.bounds
    if low - _ROUNDING <= value <= high + _ROUNDING:
        return ""
    return f"{value:.3g}, an estimate from a sample, is outside the range {low:g} to {high:g}; use the bound instead"


def failure(error: Exception) -> str:
    """Describe an error as text."""
    return f"failed: {type(error).__name__}: {error}"


def missing_score(measure: Measure, reason: str) -> Score:
    """Return a score without a value."""
    return make_score(measure, float("nan"), reason=reason)


def name_pair(score: Score, pair: Pair) -> Score:
    """Return the score with the names of the representations that it compares."""
    return replace(score, first=pair[0], second=pair[1])


def make_score(measure: Measure, value: float, seconds: float = 0.0, reason: str = "") -> Score:
    """Return the result object for a value of a measure."""
    low, high = map(float, measure.bounds)
    return Score(
        name=measure.name,
        family=measure.family,
        value=value,
        closer=measure.closer,
        possible_low=low,
        possible_high=high,
        seconds=seconds,
        reason=reason,
    )


def score_not_reached(measure: Measure) -> Score:
    """Return the score for a comparison that the run did not reach."""
    return missing_score(measure, INTERRUPTED)


def collect(steps: Iterator[Score | None], total: int) -> tuple[list[Score], bool]:
    """Collect the scores; after Ctrl-C, return those so far."""
    found, interrupted = progress.collect(steps, total, "comparing", describe=describe_scores)
    return [score for score in found if score is not None], interrupted


_SHOWN = 4
"""Number of scores in the progress."""


def describe_scores(scores: Sequence[Score | None]) -> str:
    """Return the latest scores with a value, for the progress."""
    latest = {(score.first, score.second, score.name): score for score in scores if score is not None}
    texts = [
        f"{' '.join(filter(None, (score.first, score.second)))} {score.name} {format_value(score)}".strip()
        for score in latest.values()
        if score.has_value
    ]
    return ", ".join(texts[-_SHOWN:])


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
            return cls(n, (), (), alpha, confidence=np.nan, exchanged=design.text)
        check.fraction(confidence, "confidence", closed=False)
        clusters, rng = design.clusters, spawn(seed, _LEAVING_OUT)
        n_clusters = int(clusters.max()) + 1
        if n_clusters == n:
            return cls(n, (), draw_subsets(n, rng), alpha, confidence=confidence, exchanged=design.text)
        return cls(
            n,
            (),
            draw_clusters(clusters, rng),
            alpha=alpha,
            confidence=confidence,
            exchanged=design.text,
            n_clusters=n_clusters,
        )

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
        # Covariates are regressed out of each subset separately, so its views differ from those of all rows.
        plain = all(type(side) is Representation for side in narrow)
        first, second = (kind.build_subsets(side, self.subsets, **dict(options)) if plain else None for side in narrow)
        if first is not None and second is not None:
            for a, b in zip(first, second, strict=True):
                yield [np.nan if a is None or b is None else _value_or_nan(measure, a, b) for measure in measures]
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
    """Return the number of steps that `run_with_evidence` yields."""
    return sum(_n_steps(group, group.all_pairs, evidence) for group in groups)


def _n_steps(group: Group, pairs: Sequence[Pair], evidence: Evidence) -> int:
    chosen = set(pairs)
    n_scores = [len(chosen.intersection(compared)) for compared in group.pairs]
    n_nulls = sum(n for n, measure in zip(n_scores, group.measures, strict=True) if measure.paired)
    # Each score is yielded first without and then with its interval. A null adds steps for the observed score, each
    # draw, and the score with its chance level.
    return 2 * sum(n_scores) + len(pairs) * len(evidence.subsets) + n_nulls * (len(evidence.orders) + 2)


def run_with_evidence(
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
        if not measures:
            continue
        own = evidence if orders_of is None else replace(evidence, orders=tuple(orders_of(pair)))
        scores = yield from _add_intervals(stretch, pair, measures, scores, own)
        paired = [measure for measure in measures if measure.paired]
        for measure in measures:
            score = scores[measure.name]
            yield add_note(score, _BEFORE_CHANCE) if measure.paired else score
        for together in own.passes(paired, stretch.sides[pair]):
            yield from (yield from _add_chances(stretch, pair, together, scores, own, nulls))


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
