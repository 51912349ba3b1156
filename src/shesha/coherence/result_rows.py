"""The rows of the result table: each group's scores with intervals, chance levels and p-values."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from shesha.coherence.group_scores import Evidence
from shesha.coherence.null_groups import NullGroupScores
from shesha.coherence.row_roles import Layout
from shesha.nulls.corrections import benjamini_hochberg
from shesha.nulls.null_summary import summarise
from shesha.results import Coherence
from shesha.support.types import Matrix, Vector

_NO_SPREAD = 1e-7
"""Ratio of spread to magnitude below which the spread is mere rounding error."""


def lines(
    row_layout: Layout, observed: Evidence, drawn: NullGroupScores, alpha: float, confidence: float
) -> list[Coherence]:
    """Return one result per group: its scores with intervals, chance levels and p-values.

    Parameters
    ----------
    row_layout : Layout
    observed : Evidence
    drawn : NullGroupScores
    alpha, confidence : float
        Significance level of the thresholds, and confidence level of the intervals.
    """
    margins = [
        _margin(errors, observed.degrees, confidence)
        for errors in (observed.mean_cosine_error, observed.pairwise_error)
    ]
    result = [
        Coherence(
            name=name,
            n=int(observed.n[g]),
            coherence=float(observed.mean_cosine[g]),
            ci_low=float(np.maximum(observed.mean_cosine[g] - margins[0][g], -1)),
            ci_high=float(np.minimum(observed.mean_cosine[g] + margins[0][g], 1)),
            unbiased=float(observed.pairwise[g]),
            unbiased_ci_low=float(np.maximum(observed.pairwise[g] - margins[1][g], -1)),
            unbiased_ci_high=float(np.minimum(observed.pairwise[g] + margins[1][g], 1)),
            magnitude=float(observed.magnitude[g]),
            unbiased_magnitude=_signed_root(observed.magnitude[g] ** 2 - observed.noise[g]),
            spread=float(observed.spread[g]),
            snr=_ratio(float(observed.magnitude[g]), float(observed.spread[g])),
            n_controls=len(row_layout.controls),
            n_draws=len(drawn.scores[g]),
            alpha=alpha,
            confidence=confidence,
            reason=drawn.reasons[g],
            **_null_fields(observed, g, drawn.scores[g], alpha),
        )
        for g, name in enumerate(row_layout.names)
    ]
    # The unbiased coherence decides, because it means the same for groups of all sizes.
    adjusted = benjamini_hochberg([line.unbiased_p for line in result])
    return [replace(line, p_adjusted=float(p)) for line, p in zip(result, adjusted, strict=True)]


def _null_fields(evidence: Evidence, g: int, scores: Matrix, alpha: float) -> dict[str, Any]:
    """Return the chance levels and p-values of a group's three scores."""
    if not len(scores) or evidence.mean_cosine[g] != evidence.mean_cosine[g]:
        return {}
    # Noise alone makes a mean shift longer, and groups differ in noise, so magnitudes are tested relative to their
    # noise.
    with np.errstate(divide="ignore", invalid="ignore"):
        excess = evidence.magnitude[g] / np.sqrt(evidence.noise[g])
    observed = (evidence.mean_cosine[g], evidence.pairwise[g], evidence.magnitude[g], excess)
    best = (1.0, 1.0, None, None)
    mean, pair, size, beyond_noise = (
        summarise(float(value), scores[:, i], "higher", alpha, top)
        for i, (value, top) in enumerate(zip(observed, best, strict=True))
    )
    return {
        **{name: getattr(mean, name) for name in ("null_mean", "null_sd", "threshold", "score", "p_value")},
        "unbiased_chance": pair.null_mean,
        "unbiased_p": pair.p_value,
        "magnitude_chance": size.null_mean,
        "magnitude_p": beyond_noise.p_value,
    }


def _margin(error: Vector, degrees: Vector, confidence: float) -> Vector:
    from scipy.special import stdtrit

    with np.errstate(invalid="ignore"):
        return np.asarray(error * stdtrit(np.where(degrees > 0, degrees, np.nan), 0.5 + confidence / 2))


def _ratio(magnitude: float, spread: float) -> float:
    """Return magnitude divided by spread; NaN if all rows are equal."""
    return magnitude / spread if spread > _NO_SPREAD * magnitude else float("nan")


def _signed_root(square: float) -> float:
    return float(np.sign(square) * np.sqrt(abs(square)))
