"""Comparing many pairs by many measures: each view is made once per representation, used by all, then freed."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shesha import _memory as memory
from shesha._warnings import MeasureWarning, NotEstimable, warn
from shesha.kernels.threads import parallel, single_threaded_blas
from shesha.measures import Measure
from shesha.results import PairScore, Score
from shesha.views import Representation, View, aligned

Pair = tuple[str, str]
Sources = Mapping[str, Representation]
INTERRUPTED = "interrupted"
_TOGETHER = 2**29
"""Views that take less than this many bytes in making are made side by side, one per thread."""


@dataclass(frozen=True)
class Group:
    """Measures that look at the same view, and the pairs that each compares."""

    measures: tuple[Measure, ...]
    pairs: tuple[tuple[Pair, ...], ...]

    @property
    def all_pairs(self) -> list[Pair]:
        """Every pair that some measure compares."""
        return list(dict.fromkeys(pair for pairs in self.pairs for pair in pairs))

    def bytes_for(self, sources: Sources, pair: Pair) -> int:
        """Memory that one pair takes."""
        kind, options = self.measures[0].view_key
        needs = [kind.memory(*size_of(sources[name]), **dict(options)) for name in pair]
        return sum(kept for kept, _ in needs) + max(working for _, working in needs)

    def bytes_kept(self, sources: Sources, names: Sequence[str]) -> int:
        """Memory that the views of these representations keep."""
        kind, options = self.measures[0].view_key
        return sum(kind.memory(*size_of(sources[name]), **dict(options))[0] for name in names)


def size_of(source: Representation) -> tuple[int, int]:
    """Rows and columns, as a measure of memory."""
    n, *rest = source.shape
    return n, max(1, _product(rest)) if not source.given_distances else 1


def _product(numbers: Sequence[int]) -> int:
    total = 1
    for number in numbers:
        total *= number
    return total


def grouped(measures: Sequence[Measure], pairs: Mapping[str, Sequence[Pair]]) -> list[Group]:
    """Group the measures by what they look at, in their order."""
    groups: dict[Any, list[Measure]] = {}
    for measure in measures:
        groups.setdefault((measure.view_key, measure.view.folding), []).append(measure)
    return [Group(tuple(found), tuple(tuple(pairs[m.name]) for m in found)) for found in groups.values()]


def too_large(groups: Sequence[Group], sources: Sources) -> dict[tuple[str, Pair], str]:
    """Find what would exceed the memory budget, and why; told before anything starts."""
    budget = memory.memory_budget()
    found: dict[tuple[str, Pair], str] = {}
    left_out: dict[str, str] = {}
    for group in groups:
        for pair in group.all_pairs:
            need = group.bytes_for(sources, pair)
            if need > budget:
                reason = (
                    f"needs {memory.readable(need)} of a memory budget of {memory.readable(budget)}: "
                    "pass fewer rows, or raise SHESHA_MEMORY"
                )
                found |= {(measure.name, pair): reason for measure in group.measures}
                left_out |= {measure.name: reason for measure in group.measures}
    for reason in dict.fromkeys(left_out.values()):
        names = ", ".join(name for name, why in left_out.items() if why == reason)
        warn(f"left out: {names}: {reason}", MeasureWarning)
    return found


def run(groups: Sequence[Group], sources: Sources, skipped: Mapping[tuple[str, Pair], str]) -> Iterator[PairScore]:
    """Yield the scores, group by group."""
    for group in groups:
        for tile in _tiles(group, sources):
            yield from _run_tile(group, sources, tile, skipped)


def _tiles(group: Group, sources: Sources) -> Iterator[list[Pair]]:
    """Cut the pairs so that the views of each stretch fit the budget."""
    budget = memory.memory_budget()
    tile: list[Pair] = []
    names: list[str] = []
    for pair in group.all_pairs:
        wider = list(dict.fromkeys([*names, *pair]))
        if tile and group.bytes_kept(sources, wider) + group.bytes_for(sources, pair) > budget:
            yield tile
            tile, wider = [], list(pair)
        tile.append(pair)
        names = wider
    if tile:
        yield tile


@dataclass(frozen=True)
class _Look:
    """A view of one representation, or why there is none, and the seconds it took."""

    view: View | None
    reason: str
    seconds: float


def _run_tile(
    group: Group, sources: Sources, tile: list[Pair], skipped: Mapping[tuple[str, Pair], str]
) -> Iterator[PairScore]:
    first = group.measures[0]
    kind, options = first.view_key
    usable = [pair for pair in tile if (first.name, pair) not in skipped]
    sides = {pair: aligned(sources[pair[0]], sources[pair[1]], kind.folding) for pair in usable}
    # Feature maps differ by pair, matrices do not.
    unique = {id(side): side for both in sides.values() for side in both}
    looks = _look_at(first, list(unique.values()), len(tile))
    n_uses = {key: sum(id(s) == key for both in sides.values() for s in both) * len(group.measures) for key in unique}

    def compare(task: tuple[Measure, Pair]) -> PairScore:
        measure, pair = task
        if (measure.name, pair) in skipped:
            return PairScore(*pair, _missing(measure, skipped[measure.name, pair]))
        a, b = sides[pair]
        share = sum(looks[id(side)].seconds / n_uses[id(side)] for side in (a, b))
        return PairScore(*pair, _scored(measure, pair, (a, b), (looks[id(a)], looks[id(b)]), share))

    tasks = [
        (measure, pair)
        for measure, pairs in zip(group.measures, group.pairs, strict=True)
        for pair in tile
        if pair in set(pairs)
    ]
    try:
        yield from parallel(compare, tasks)
    finally:
        for side in unique.values():
            side.drop(kind, **dict(options))


def _look_at(measure: Measure, sides: list[Representation], n_pairs: int) -> dict[int, _Look]:
    def look(side: Representation) -> _Look:
        start = time.perf_counter()
        try:
            view, reason = measure.look(side), ""
        except NotEstimable as why:
            view, reason = None, str(why)
        except Exception as error:  # One measure's failure must not stop the others.
            view, reason = None, _failure(error)
        return _Look(view, reason, time.perf_counter() - start)

    kind, options = measure.view_key
    working = max((sum(kind.memory(*size_of(side), **dict(options))) for side in sides), default=0)
    found = parallel(look, sides) if working < _TOGETHER else _one_by_one(look, sides)
    return {id(side): one for side, one in zip(sides, found, strict=True)}


def _one_by_one(look: Any, sides: list[Representation]) -> Iterator[_Look]:
    with single_threaded_blas():
        yield from map(look, sides)


def _scored(
    measure: Measure,
    pair: Pair,
    sides: tuple[Representation, Representation],
    looks: tuple[_Look, _Look],
    seconds: float,
) -> Score:
    """Compare two views, or say why not."""
    start = time.perf_counter()
    try:
        measure.require_comparable(*sides)
        for name, look in zip(pair, looks, strict=True):
            if look.reason:
                return _missing(measure, f"{name}: {look.reason}")
        assert looks[0].view is not None and looks[1].view is not None
        value = measure.compared(looks[0].view, looks[1].view)
    except NotEstimable as why:
        return _missing(measure, str(why))
    except Exception as error:  # One measure's failure must not stop the others.
        return _missing(measure, _failure(error))
    if value != value:
        return _missing(measure, "the measure returned NaN without a reason")
    return _score(measure, value, seconds + time.perf_counter() - start, "")


def _failure(error: Exception) -> str:
    return f"failed: {type(error).__name__}: {error}"


def _missing(measure: Measure, reason: str) -> Score:
    return _score(measure, float("nan"), 0.0, reason)


def _score(measure: Measure, value: float, seconds: float, reason: str) -> Score:
    low, high = map(float, measure.bounds)
    return Score(measure.name, measure.family, value, measure.closer, low, high, seconds, reason)


def interrupted(measure: Measure) -> Score:
    """Return the score of what was not reached."""
    return _missing(measure, INTERRUPTED)
