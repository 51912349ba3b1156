"""Intervals for scores, which reflect how the scores vary over rows, pairs and partitions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shesha.nulls.restricted_permutations import Exchange
from shesha.stability.request import Evidence
from shesha.support.types import Vector

ALONE = "the interval leaves out the error over partitions, which cannot be estimated from a single partition"
NOTHING_TO_RESAMPLE = "there is no interval, because no block has two units (rows, groups or stretches) to resample"


@dataclass(frozen=True)
class Interval:
    """Limits of an interval, with the standard errors from which they were computed."""

    low: float
    high: float
    row_error: float
    partition_error: float
    n_resamples: int
    notes: tuple[str, ...] = ()


def combine_errors(evidence: Evidence, design: Exchange, bounds: tuple[float, float], confidence: float) -> Interval:
    """Combine independent sources of error: the squared margins of the interval are added."""
    from scipy.special import ndtri, stdtrit

    level, nan = 0.5 + confidence / 2, float("nan")
    part, row_error = partition_error(evidence), _row_error(evidence)
    units, free = _units(design)
    known = evidence.resampled[np.isfinite(evidence.resampled)]
    n_resamples = len(known) if len(known) > 1 else 0
    if not free:
        return Interval(nan, nan, nan, part, n_resamples, (NOTHING_TO_RESAMPLE,))
    # Resamples of few units vary too little, so the margins are widened as for Student's t.
    wider = float(np.sqrt(units / free) * stdtrit(free, level) / ndtri(level))
    of_rows = wider * (_quantile_margins(known, level) if n_resamples else np.full(2, row_error * ndtri(level)))
    others = (evidence.pair_error * float(ndtri(level))) ** 2
    n_draws = int(np.isfinite(evidence.draws).sum())
    if n_draws > 1 and not evidence.redrawn:
        others += (float(stdtrit(n_draws - 1, level)) * part) ** 2
    below, above = np.sqrt(of_rows**2 + others)
    low, high = np.clip([evidence.value - below, evidence.value + above], *bounds)
    notes = (ALONE,) if n_draws == 1 and not evidence.redrawn and low == low else ()
    return Interval(float(low), float(high), row_error, part, n_resamples, notes)


def partition_error(found: Evidence) -> float:
    """Return the standard error due to partitions alone, without what the sampled pairs contribute."""
    if not len(found.draws):
        return 0.0
    return float(np.sqrt(np.maximum(0.0, monte_carlo_error(found.draws) ** 2 - found.pair_error**2)))


def monte_carlo_error(scores: Vector) -> float:
    """Return the standard error of the mean over draws; NaN if there are fewer than two."""
    scores = scores[np.isfinite(scores)]
    return float(scores.std(ddof=1) / np.sqrt(len(scores))) if len(scores) > 1 else float("nan")


def _row_error(evidence: Evidence) -> float:
    """Return the standard error due to rows alone."""
    known = evidence.resampled[np.isfinite(evidence.resampled)]
    if len(known) < 2:
        # The analytic error includes the error due to sampled pairs.
        return float(np.sqrt(np.maximum(0.0, evidence.analytic_error**2 - evidence.pair_error**2)))
    spread = float(known.std(ddof=1))
    part = partition_error(evidence) if evidence.redrawn else 0.0
    return float(np.sqrt(max(0.0, spread**2 - part**2))) if part == part else spread


def _quantile_margins(resampled: Vector, level: float) -> Vector:
    """Return how far quantiles are from the mean, which repeated rows shift without changing the spread."""
    return np.asarray(np.abs(np.quantile(resampled, [1 - level, level]) - resampled.mean()))


def _units(design: Exchange) -> tuple[int, int]:
    """Return how many rows, groups or stretches are resampled, and their degrees of freedom within blocks."""
    units = int(design.clusters.max()) + 1
    return units, units - 1 - int(np.count_nonzero(np.diff(np.sort(design.block))))
