"""Measure the change of one layer by several measures, with intervals over rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shesha.changes.verdicts_by_noise_floor import judge, noise_limit
from shesha.comparison.chance_and_intervals import Evidence
from shesha.comparison.engine import Group, make_score
from shesha.drift.drift_scores import drifts
from shesha.measures import Measure
from shesha.results.changes.diff import LayerChange, MeasureChange
from shesha.support.types import Matrix, Vector
from shesha.support.warnings import NotEstimable
from shesha.views import Representation

NAN = float("nan")


@dataclass(frozen=True)
class LayerPair:
    """A layer before and after the change, with pairs of encodings that differ only by noise."""

    name: str
    other: str
    before: Representation
    after: Representation
    unchanged: tuple[tuple[Representation, Representation], ...]
    """Pairs of encodings that differ only by noise."""


def layer_change(pair: LayerPair, measures: Sequence[Measure], evidence: Evidence) -> LayerChange:
    """Score the change of a layer by every measure and compare it with noise; the first measure decides."""
    values, reasons = drifts(measures, pair.before, pair.after)
    noise = _noise(pair, measures)
    scores = []
    for i, measure in enumerate(measures):
        low, high, note = NAN, NAN, reasons[i]
        if np.isfinite(values[i]):
            low, high, note = _interval(measure, pair, float(values[i]), evidence)
        most = float(np.nanmax(noise[:, i])) if np.isfinite(noise[:, i]).any() else NAN
        scores.append(MeasureChange(measure.name, float(values[i]), low, high, most, note))
    limit = noise_limit(noise[:, 0].tolist())
    first = scores[0]
    verdict = judge(first.change, first.low, limit)
    return LayerChange(
        pair.name, pair.other, verdict, first.change, first.low, first.high, first.noise, limit, tuple(scores)
    )


def _noise(pair: LayerPair, measures: Sequence[Measure]) -> Matrix:
    rows = [drifts(measures, first, other)[0] for first, other in pair.unchanged]
    return np.array(rows).reshape(-1, len(measures))


def _interval(measure: Measure, pair: LayerPair, change: float, evidence: Evidence) -> tuple[float, float, str]:
    """Return the interval of a drift, or the reason why there is none."""
    assert measure.self_value is not None
    if change == 0.0:
        return 0.0, 0.0, ""
    sides = pair.before, pair.after
    try:
        rows = list(evidence.score_subsets(Group((measure,), ((),)), [measure], sides))
    except NotEstimable as reason:
        return NAN, NAN, f"no interval: {reason}"
    on_subsets: Vector = np.array(rows)[:, 0]
    value = measure.self_value + change if measure.closer == "lower" else measure.self_value - change
    score = evidence.add_interval(make_score(measure, value, 0.0, ""), on_subsets)
    if not score.has_interval:
        return NAN, NAN, score.note
    if measure.closer == "lower":
        return score.interval_low - measure.self_value, score.interval_high - measure.self_value, ""
    return measure.self_value - score.interval_high, measure.self_value - score.interval_low, ""
