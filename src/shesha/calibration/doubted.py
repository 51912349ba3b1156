"""Doubts about a pair that stands beside its null, and the warnings that name the remedy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from shesha._types import Index, Seed
from shesha._warnings import CalibrationWarning, NotEstimable, warn
from shesha.calibration.subject import Subject, prepare
from shesha.doubting import doubted_pair
from shesha.doubting.clusters import of_cluster
from shesha.doubting.pairs import at_their_best, moved_by, saturated
from shesha.measures import as_measure
from shesha.measures._own import PlainMeasure
from shesha.measures._registry import Choice
from shesha.nulls.orders import Design, asked_for
from shesha.results import Dependence, Doubts
from shesha.views import Adjusted, Representation

_TOLD_BEFORE = ("order", "duplicates")
"""Dependent rows have warnings of their own, which know the design."""
_OF_ROWS = ("few rows", "rare cluster")
"""Doubts that name rows without which a score is another."""
_MOVED = 0.2
"""Change of a measure, as a share of the way from chance to the best value, that makes rows worth naming."""


def doubts_of_pair(
    sides: Sequence[Representation], design: Design, dependence: Dependence | None = None, *, only_cheap: bool = False
) -> Doubts:
    """Doubt two representations; a design that was asked for is known, and says what the order means."""
    sides = [side.given if isinstance(side, Adjusted) and side.by_distances else side for side in sides]
    return doubted_pair(sides, order=not asked_for(design), dependence=dependence, only_cheap=only_cheap)


def with_saturated(
    doubts: Doubts, chance: Mapping[str, tuple[float, float, float]], sides: Sequence[Representation]
) -> Doubts:
    """Add the measures whose null, (mean, worst value, best value), stands at the best value."""
    widths = tuple(0 if side.given_distances else int(np.prod(side.shape[1:])) for side in sides)
    found = saturated(at_their_best(chance), sides[0].n_rows, widths)
    return doubts if found is None else replace(doubts, found=(found, *doubts.found))


def with_measured_rows(
    doubts: Doubts, measure: str, n_rows: int, observed: float, scale: float, without: Callable[[Index], float]
) -> Doubts:
    """Replace what a few rows do to CKA by what they do to the measure in question, or drop the doubt.

    `without` scores the rows that are left; a change counts in units of the scale, the way from chance to the best.
    """
    if not scale > 0:
        return doubts
    found = []
    for one in doubts:
        # A cluster of more rows than are looked at has members that nobody named.
        if one.name not in _OF_ROWS or (one.name == "rare cluster" and doubts.n_looked_at < n_rows):
            found.append(one)
            continue
        try:
            left = without(np.setdiff1d(np.arange(n_rows), one.rows))
        except NotEstimable:
            left = float("nan")
        effect = abs(left - observed) / scale
        if effect >= _MOVED:
            measured = moved_by(measure, one.rows, observed, left, effect)
            found.append(measured if one.name == "few rows" else of_cluster(measure, one.rows, observed, left, effect))
    return replace(doubts, found=tuple(sorted(found, key=lambda one: -one.effect)))


def scored_without(
    subject: Subject, measure: Choice, options: dict[str, Any], truncate: int | float | None, seed: Seed
) -> Callable[[Index], float] | None:
    """Return what scores the rows that are left when a few are taken out; None for a function of one's own."""
    if isinstance(as_measure(measure), PlainMeasure):
        return None

    def score(kept: Index) -> float:
        first, second = (side.rows_at(kept) for side in subject.sides)
        few = prepare(first, second, measure, options, truncate=truncate, seed=seed)
        return float(next(iter(few.scores([np.arange(len(kept))])))[0, 0])

    return score


def weighed(
    doubts: Doubts,
    subject: Subject,
    observed: float,
    null_mean: float,
    null_sd: float,
    best: float | None,
    without: Callable[[Index], float] | None,
) -> Doubts:
    """Weigh the doubts about a pair by what stands beside its null, and warn of them."""
    if best is not None:
        doubts = with_saturated(doubts, {subject.name: (null_mean, _worst_of(subject), best)}, subject.sides)
    if without is not None:
        scale = null_sd * 3 if best is None else abs(best - null_mean)
        doubts = with_measured_rows(doubts, subject.name, subject.n_rows, observed, scale, without)
    warn_of_doubts(doubts)
    return doubts


def _worst_of(subject: Subject) -> float:
    """The bound of the measure on the far side."""
    low, high = subject.bounds
    return low if subject.closer == "higher" else high


def warn_of_doubts(doubts: Doubts) -> None:
    """Warn of what may make a p-value or a score say something else than it seems to."""
    for one in doubts:
        if one.name not in _TOLD_BEFORE:
            warn(f"{one.name}: {one.text}. {one.advice}", CalibrationWarning)
