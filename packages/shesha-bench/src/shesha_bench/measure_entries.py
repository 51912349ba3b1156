"""The measures that the benchmark ranks: the library's, calibrated variants, and your own functions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shesha.calibration.permutation_scores import null_scores
from shesha.comparison import engine
from shesha.comparison.engine import Group, Pair, Sources
from shesha.kernels.distances import Metric, find_undirected_rows
from shesha.measures import Measure, PlainMeasure, choose, import_measure
from shesha.nulls.null_summary import summarise
from shesha.results import Score
from shesha.runs import version_of_code
from shesha.support.seeds import generator
from shesha.support.types import Index
from shesha.views import Concentricity, Representation, View, aligned
from shesha_bench.catalogue import import_from_here, is_place
from shesha_bench.store import Entry

RULE = 1
"""Number of the rule for leaving out rows, which is part of the version of each affected measure."""
_MOST = 0.5
"""Largest share of rows without a direction for which a pair is still compared."""
_KINDS: Mapping[Metric | None, str] = {"cosine": "zero", "correlation": "constant"}

Skipped = Mapping[tuple[str, Pair], str]


@dataclass(frozen=True)
class Compared:
    """The score of a pair, and how many rows were left out to compute it."""

    pair: Score
    rows_left_out: int = 0


@dataclass(frozen=True)
class _Lacking:
    """A pair in which some rows lack a direction, and the rows that have one on both sides."""

    sides: tuple[Representation, Representation]
    directed: Index

    @property
    def n_rows(self) -> int:
        return self.sides[0].n_rows

    @property
    def n_left_out(self) -> int:
        return self.n_rows - len(self.directed)


def required_metric(measure: Measure) -> Metric | None:
    """Return the metric for which a measure needs rows with a direction, or None if it needs none."""
    if issubclass(measure.view, Concentricity):
        return "cosine"
    metric: Metric | None = dict(measure.view_key[1]).get("metric")
    return metric if metric in _KINDS else None


def compare_directed(group: Group, sources: Sources, skipped: Skipped) -> Iterator[Compared]:
    """Yield the score of each pair, computed from rows that have a direction in both representations.

    If more than half of the rows lack a direction, the value is missing and the reason states how many rows these are.
    """
    metric = required_metric(group.measures[0])
    lacking = {} if metric is None else _pairs_without_direction(group, sources, skipped, metric)
    too_few = {pair for pair, entry in lacking.items() if entry.n_left_out > _MOST * entry.n_rows}
    reasons = {(measure.name, pair): _reason(lacking[pair], metric) for measure in group.measures for pair in too_few}
    as_they_are = _restrict_pairs(group, {*group.all_pairs} - {*lacking} | too_few)
    for score in engine.run([as_they_are], sources, {**skipped, **reasons}):
        yield Compared(score)
    for pair, entry in lacking.items():
        if pair not in too_few:
            some = {name: side.take_rows(entry.directed) for name, side in zip(pair, entry.sides, strict=True)}
            for score in engine.run([_restrict_pairs(group, {pair})], some, {}):
                yield Compared(score, entry.n_left_out)


def _pairs_without_direction(group: Group, sources: Sources, skipped: Skipped, metric: Metric) -> dict[Pair, _Lacking]:
    """Find the pairs in which some rows lack a direction."""
    first = group.measures[0]
    lacking = {}
    for pair in group.all_pairs:
        if (first.name, pair) in skipped:
            continue
        sides = aligned(sources[pair[0]], sources[pair[1]], first.view.folding)
        if sides[0].n_rows != sides[1].n_rows or any(side.has_distances_only for side in sides):
            continue
        left_out = np.union1d(*(_find_undirected(side, metric) for side in sides))
        if len(left_out):
            lacking[pair] = _Lacking(sides, np.setdiff1d(np.arange(sides[0].n_rows), left_out))
    return lacking


def _find_undirected(side: Representation, metric: Metric) -> Index:
    rows: Index = side.cached(("undirected", metric), lambda: find_undirected_rows(side.rows, metric))
    return rows


def _reason(lacking: _Lacking, metric: Metric | None) -> str:
    return (
        f"more than half of the rows are {_KINDS[metric]} in at least one of the two representations and have no "
        f"{metric} distance: {lacking.n_left_out} of {lacking.n_rows}"
    )


def _restrict_pairs(group: Group, wanted: Collection[Pair]) -> Group:
    """Return the same measures, each with only those of its pairs that are wanted."""
    return Group(group.measures, tuple(tuple(pair for pair in pairs if pair in wanted) for pairs in group.pairs))


N_PERMUTATIONS = 99


@dataclass(frozen=True)
class CalibratedMeasure(Measure):
    """A measure whose value is its calibrated score: 0 at chance, 1 for perfect agreement."""

    of: Measure | None = None

    def compare_views(self, a: View, b: View) -> float:
        """Return the calibrated score of two views, using the same permutations for every pair."""
        assert self.of is not None
        orders = list(_orders(int(a.n_rows)))  # type: ignore[attr-defined]
        scores = np.array([grid[0, 0] for grid in null_scores(self.of, a, b, orders)])
        best = self.of.bounds[1] if self.of.closer == "higher" else self.of.bounds[0]
        return summarise(float(scores[0]), scores[1:], self.of.closer, 0.05, float(best)).calibrated

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle only the measure that is calibrated."""
        return calibrated, (self.of,)


def calibrated(measure: Measure) -> CalibratedMeasure:
    """Return the calibrated variant of a measure, which must have a value for perfect agreement."""
    best = measure.bounds[1] if measure.closer == "higher" else measure.bounds[0]
    if not measure.paired or not np.isfinite(best):
        raise ValueError(
            f"measure must compare rows and have a best possible value to be calibrated, got {measure.name}"
        )
    attrs = {name: getattr(measure, name) for name in ("function", "view", "symmetric", "invariant", "family", "cost")}
    kept = ("formula", "reference", "equal_widths", "needs_features", "view_options", "options")
    attrs |= {name: getattr(measure, name) for name in kept}
    return CalibratedMeasure(name=f"calibrated {measure.name}", closer="higher", bounds=(0.0, 1.0), of=measure, **attrs)


@lru_cache(maxsize=4)
def _orders(n_rows: int) -> tuple[NDArray[np.intp], ...]:
    rng = generator(0)
    return tuple(rng.permutation(n_rows) for _ in range(N_PERMUTATIONS))


CALIBRATED = ("CKA", "RSA", "mutual kNN")
"""Measures whose calibrated variants are included in 'all'."""


def entries(
    chosen: Iterable[str | Measure | Callable[..., float]] = ("all",),
    options: Mapping[str, Mapping[str, Any]] | None = None,
) -> list[Measure]:
    """Look up measures by name, family, group, 'calibrated CKA' or 'module:name'; 'all' means everything.

    `options` maps names of measures to options, which apply to measures that are chosen without options of their own.
    """
    by_name: dict[str, Measure] = {}
    for choice in chosen:
        for measure in _meant(choice):
            if not measure.options and measure.name in (options or {}):
                measure = measure.with_options(**(options or {})[measure.name])
            if by_name.setdefault(measure.name, measure) != measure:
                raise ValueError(f"measures must have distinct names, got {measure.name!r} twice")
    # A fixed seed gives all comparisons the same random draws, in this run and in later ones.
    return [measure if isinstance(measure, PlainMeasure) else measure.with_seed(0) for measure in by_name.values()]


def _meant(choice: str | Measure | Callable[..., float]) -> list[Measure]:
    if not isinstance(choice, str):
        return choose(choice)
    if choice.casefold().startswith("calibrated "):
        return [calibrated(measure) for measure in choose(choice[len("calibrated ") :])]
    if choice.casefold() == "all":
        return [*choose("all"), *(calibrated(choose(name)[0]) for name in CALIBRATED)]
    if is_place(choice):
        # This also finds modules in the current folder.
        import_from_here(choice, "measure")
        return [import_measure(choice)]
    return choose(choice)


def make_entry(measure: Measure) -> Entry:
    """Return the description of a measure for the store."""
    return Entry(measure.name, entry_version(measure), measure.closer, measure.symmetric)


def entry_version(measure: Measure) -> str:
    """Return a measure's version: a hash of its code, and the rule for leaving out rows if it applies."""
    code = _code_version(measure)
    return code if required_metric(measure) is None else f"{code}+directed.{RULE}"


def _code_version(measure: Measure) -> str:
    """Return a hash of the code of a measure; for a calibrated one, with the size of the null."""
    code = version_of_code(measure.function)
    return f"{code}+{N_PERMUTATIONS}" if isinstance(measure, CalibratedMeasure) else code
