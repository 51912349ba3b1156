"""Measure the change of one layer by several measures, with intervals over rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shesha.changes.vector_errors import vectors_differ
from shesha.changes.verdicts_by_noise_floor import REPLACED, judge, noise_limit
from shesha.comparison.chance_and_intervals import Evidence
from shesha.comparison.engine import Group, make_score
from shesha.drift.drift_scores import drifts
from shesha.measures import Measure
from shesha.results.changes.diff import LayerChange, MeasureChange
from shesha.support.types import Matrix, Vector
from shesha.support.warnings import NotEstimable
from shesha.views import Representation

NAN = float("nan")
_DRIFT_OF_UNRELATED_ROWS = {"RDM drift": 2 * REPLACED, "unbiased CKA": 2 * REPLACED}
"""For other measures, this drift is computed with permuted rows."""
_SHUFFLING, _SHUFFLES = 23, 3


@dataclass(frozen=True)
class LayerPair:
    """A layer before and after the change, with pairs of encodings that differ only by noise."""

    name: str
    other: str
    before: Representation
    after: Representation
    unchanged: tuple[tuple[Representation, Representation], ...]
    """Pairs of encodings that differ only by noise."""
    kinds: tuple[str, ...]
    """Which noise each pair has, such as that of re-encodings or of further runs of the same change."""


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
        scores.append(MeasureChange(measure.name, float(values[i]), low, high, most, note, label=_label(measure)))
    limit = noise_limit(noise[:, 0].tolist())
    first = scores[0]
    replaced = _drift_of_unrelated_rows(measures[0], pair) / 2
    verdict = judge(first.change, first.low, limit, replaced)
    return LayerChange(
        *(pair.name, pair.other, verdict, first.change, first.low, first.high, first.noise, limit, tuple(scores)),
        replaced_above=replaced,
        vectors_differ=vectors_differ(pair.before, pair.after, pair.unchanged),
        floors=_floors(pair, noise[:, 0]),
    )


def _label(measure: Measure) -> str:
    """Return what a change is called: for a similarity that is 1 for equal rows, 1 minus the similarity."""
    base = measure.name.partition("(")[0]
    if base == "mutual kNN":
        return "neighbours lost"
    if measure.self_value == 0 and measure.closer == "lower":
        return base
    return f"1 - {base}" if measure.self_value == 1 and measure.closer == "higher" else f"change of {base}"


def _drift_of_unrelated_rows(measure: Measure, pair: LayerPair) -> float:
    """Return the drift of unrelated geometries, of which half separates changed from replaced layers."""
    known = _DRIFT_OF_UNRELATED_ROWS.get(measure.name.partition("(")[0])
    if known is not None:
        return known
    orders = [np.random.default_rng([_SHUFFLING, k]).permutation(pair.before.n_rows) for k in range(_SHUFFLES)]
    found = [float(drifts([measure], pair.before, pair.after.take_rows(order))[0][0]) for order in orders]
    return float(np.mean(found)) if np.isfinite(found).all() else 2 * REPLACED


def _floors(pair: LayerPair, noise: Vector) -> dict[str, float]:
    """Return the largest drift of each kind of pairs that differ only by noise."""
    floors: dict[str, float] = {}
    for kind, drift in zip(pair.kinds, noise.tolist(), strict=True):
        floors[kind] = float(np.fmax(floors.get(kind, NAN), drift))
    return floors


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
