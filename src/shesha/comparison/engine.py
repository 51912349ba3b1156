"""Compare many pairs with many measures: each view is built once, shared, and then freed."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from shesha.calibration.permutation_scores import TOGETHER
from shesha.kernels.threads import parallel, single_threaded_blas
from shesha.measures import Measure
from shesha.results import Score
from shesha.support import memory
from shesha.support.progress import track
from shesha.support.warnings import MeasureWarning, NotEstimable, warn
from shesha.views import Features, Representation, View, aligned

Pair = tuple[str, str]
Sides = tuple[Representation, Representation]
Sources = Mapping[str, Representation]
Skipped = Mapping[tuple[str, Pair], str]
"""For measures and pairs that are not compared, the reason why."""
Item = TypeVar("Item")
Result = TypeVar("Result")
INTERRUPTED = "interrupted"
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
            yield from parallel(work, items, at_once=max(1, memory.memory_budget() // max(1, largest)))
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
                    f"needs {memory.readable(need)} of a memory budget of {memory.readable(budget)}: "
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
    views: Mapping[int, _ComputedView]
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
    try:
        if measure.paired and sides[0].n_rows != sides[1].n_rows:
            return missing_score(
                measure, f"rows do not correspond: {sides[0].n_rows} and {sides[1].n_rows} rows after folding"
            )
        measure.require_comparable(*sides)
        for name, look in zip(pair, views, strict=True):
            if look.reason:
                return missing_score(measure, f"{name}: {look.reason}")
        assert views[0].view is not None and views[1].view is not None
        value = measure.compare_views(views[0].view, views[1].view)
        expected = math.nan if measure.expected is None else measure.expected(views[0].view, views[1].view)
        notes = filter(None, [measure.format_remark(views[0].view, views[1].view) or outside_note(measure, value)])
    except NotEstimable as why:
        return missing_score(measure, str(why))
    except Exception as error:  # One measure's failure must not stop the others.
        return missing_score(measure, failure(error))
    if not math.isfinite(value):
        return missing_score(measure, f"the measure returned {value} without a reason")
    score = make_score(measure, value, seconds + time.perf_counter() - start, "")
    return replace(score, notes=tuple(notes), chance=expected)


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
    return make_score(measure, float("nan"), 0.0, reason)


def name_pair(score: Score, pair: Pair) -> Score:
    """Return the score with the names of the representations that it compares."""
    return replace(score, first=pair[0], second=pair[1])


def make_score(measure: Measure, value: float, seconds: float, reason: str) -> Score:
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
    pair_scores: list[Score] = []
    try:
        pair_scores.extend(step for step in track(steps, total, "comparing") if step is not None)
    except KeyboardInterrupt:
        return pair_scores, True
    return pair_scores, False
