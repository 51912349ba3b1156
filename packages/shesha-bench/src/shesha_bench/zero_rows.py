"""Compare only rows that have a direction: zero rows have no cosine, constant rows no correlation.

The measures themselves raise an error for rows without a direction. Trained networks do produce such rows (from inputs
for which every unit is off), and a single one would make every comparison involving that model fail.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from shesha.comparison import engine
from shesha.comparison.engine import Group, Pair, Sources
from shesha.kernels.distances import Metric, find_undirected_rows
from shesha.measures import Measure
from shesha.results import PairScore
from shesha.support.types import Index
from shesha.views import Concentricity, Representation, aligned

RULE = 1
"""Number of the rule for leaving out rows, which is part of the version of each affected measure."""
_MOST = 0.5
"""Largest share of rows without a direction for which a pair is still compared."""
_KINDS: Mapping[Metric | None, str] = {"cosine": "zero", "correlation": "constant"}

Skipped = Mapping[tuple[str, Pair], str]


@dataclass(frozen=True)
class Compared:
    """The score of a pair, and how many rows were left out to compute it."""

    pair: PairScore
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

    Parameters
    ----------
    group : Group
        Measures that share a view, and the pairs that each of them compares.
    sources : mapping of str to Representation
        Representations by name.
    skipped : mapping of (measure, pair) to str
        Comparisons to leave out, each with the reason.

    Yields
    ------
    Compared
        The score of a pair. If more than half of the rows lack a direction, the value is missing and the reason states
        how many rows these are.
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
