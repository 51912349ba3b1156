"""Find doubts about a calibrated pair, and issue warnings that say what to do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from shesha.calibration.calibration_input import Subject, prepare
from shesha.doubting import find_pair_doubts
from shesha.doubting.pair_doubts import few_rows_doubt, saturated_measures, saturation, width
from shesha.doubting.rare_cluster_doubts import cluster_doubt
from shesha.measures import as_measure
from shesha.measures._lookup import PlainMeasure
from shesha.measures.registry import Choice
from shesha.nulls.permutations import Design, nonempty_arguments
from shesha.results import Dependence, Doubt, Doubts
from shesha.support.types import Index, Seed
from shesha.support.warnings import CalibrationWarning, NotEstimable, warn
from shesha.views import Adjusted, Gram, Representation

_NO_WARNING = ("order", "alternating order", "duplicates", "copies")
"""Doubts that raise no warning, because another warning or the score itself already shows the problem."""
_OF_ROWS = ("few rows", "rare cluster")
"""Doubts that list rows with a strong influence on the score."""
_MOVED = 0.2
"""Smallest reported effect of rows: change in the score / distance from chance to perfect agreement."""


def doubts_of_pair(
    sides: Sequence[Representation], design: Design, dependence: Dependence | None = None, *, only_cheap: bool = False
) -> Doubts:
    """Find doubts about two representations; the row order is checked only if no design is declared."""
    sides = [side.given if isinstance(side, Adjusted) and side.by_distances else side for side in sides]
    return find_pair_doubts(sides, order=not nonempty_arguments(design), dependence=dependence, only_cheap=only_cheap)


def add_saturation(
    doubts: Doubts, chance: Mapping[str, tuple[float, float, float]], sides: Sequence[Representation]
) -> Doubts:
    """Add a doubt if measures saturate; `chance` gives each measure's null mean, worst and best value."""
    widths = tuple(0 if side.has_distances_only else int(np.prod(side.shape[1:])) for side in sides)
    doubt = saturation(saturated_measures(chance), sides[0].n_rows, widths)
    return doubts if doubt is None else replace(doubts, found=(doubt, *doubts.found))


def width_doubt(sides: Sequence[Representation], cka: float) -> Doubt | None:
    """Return the doubt that most of CKA is due to chance, if it applies; uses views still in memory."""
    if not np.isfinite(cka) or any(side.has_distances_only or len(side.shape) > 2 for side in sides):
        return None
    first, second = (cast(Gram, as_measure("CKA").look(side)) for side in sides)

    def unbiased() -> float:
        try:
            return first.unbiased_alignment(second, cka)
        except NotEstimable:
            return float("nan")

    widths = tuple(side.shape[1] for side in sides)
    return width(cka, first.mean_inner(second), unbiased, sides[0].n_rows, widths)


def add_doubt(doubts: Doubts, new_doubt: Doubt | None) -> Doubts:
    """Insert a doubt so that the doubts stay sorted by effect, largest first."""
    if new_doubt is None:
        return doubts
    return replace(doubts, found=tuple(sorted((new_doubt, *doubts.found), key=lambda doubt: -doubt.effect)))


def replace_row_effects(
    doubts: Doubts, measure: str, n_rows: int, observed: float, scale: float, without: Callable[[Index], float]
) -> Doubts:
    """Replace a few rows' effect on CKA with their effect on the calibrated measure; drop small effects.

    `without` takes the rows that remain and returns their score. The effect is the change in the score divided by
    `scale`, the distance from chance to the best value.
    """
    if not scale > 0:
        return doubts
    kept_doubts = []
    for doubt in doubts:
        # If only a sample of the rows was checked, a cluster may have members that the doubt does not list.
        if doubt.name not in _OF_ROWS or (doubt.name == "rare cluster" and doubts.n_looked_at < n_rows):
            kept_doubts.append(doubt)
            continue
        try:
            score = without(np.setdiff1d(np.arange(n_rows), doubt.rows))
        except NotEstimable:
            score = float("nan")
        effect = abs(score - observed) / scale
        if effect >= _MOVED:
            measured = few_rows_doubt(measure, doubt.rows, observed, score, effect)
            kept_doubts.append(
                measured if doubt.name == "few rows" else cluster_doubt(measure, doubt.rows, observed, score, effect)
            )
    return replace(doubts, found=tuple(sorted(kept_doubts, key=lambda doubt: -doubt.effect)))


def leave_out_scorer(
    subject: Subject, measure: Choice, options: dict[str, Any], truncate: int | float | None, seed: Seed
) -> Callable[[Index], float] | None:
    """Return a function that scores the given remaining rows; None if the measure is a user function."""
    if isinstance(as_measure(measure), PlainMeasure):
        return None

    def score(rows: Index) -> float:
        first, second = (side.take_rows(rows) for side in subject.sides)
        few = prepare(first, second, measure, options, truncate=truncate, seed=seed)
        return float(next(iter(few.scores([np.arange(len(rows))])))[0, 0])

    return score


def weigh_doubts(
    doubts: Doubts,
    subject: Subject,
    observed: float,
    null_mean: float,
    null_sd: float,
    best: float | None,
    without: Callable[[Index], float] | None,
) -> Doubts:
    """Express the doubts about a pair as effects on the calibrated measure, and warn of them."""
    if best is not None:
        doubts = add_saturation(doubts, {subject.name: (null_mean, _worst_bound(subject), best)}, subject.sides)
    if without is not None:
        scale = null_sd * 3 if best is None else abs(best - null_mean)
        doubts = replace_row_effects(doubts, subject.name, subject.n_rows, observed, scale, without)
    warn_of_doubts(doubts)
    return doubts


def _worst_bound(subject: Subject) -> float:
    """Return the bound of the measure that means no similarity."""
    low, high = subject.bounds
    return low if subject.closer == "higher" else high


def warn_of_doubts(doubts: Doubts) -> None:
    """Warn of problems that change how a p-value or a score should be interpreted."""
    for doubt in doubts:
        if doubt.name not in _NO_WARNING:
            warn(f"{doubt.name}: {doubt.text}. {doubt.advice}", CalibrationWarning)
