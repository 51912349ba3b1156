"""Check the same inputs once: drift compared with unchanged encodings, and the rows that moved most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from shesha.drift import rank_p_values
from shesha.drift.canary_reference import Reference, check_same_rows, require_count
from shesha.drift.drift_scores import drifts, half_samples, tiers
from shesha.drift.noise_floor import NoiseFloor
from shesha.drift.row_movement import class_means, row_movement
from shesha.inputs import MissingRows, RowChoice, orders, split_names
from shesha.inputs import validation as check
from shesha.measures import Measure
from shesha.results import DriftScore, Moved
from shesha.support.provenance import state
from shesha.support.types import Labels, Vector
from shesha.views import Representation, select_rows

_MOST_ROWS = 5
_MOST_CLASSES = 10
_FEWEST_ROWS = 4


@dataclass(frozen=True)
class Setting:
    """Everything that a check needs besides the rows to check."""

    reference: Reference
    measures: Sequence[Measure]
    unchanged: NoiseFloor | None
    level: float
    tolerance: float
    n_resamples: int
    seed: int

    @cached_property
    def tiers(self) -> list[str]:
        """The role of each measure in the verdict."""
        return tiers(self.measures)


def restrict_check(setting: Setting, current: Any, *, rows: RowChoice, missing: MissingRows) -> tuple[Setting, Any]:
    """Restrict a check to the rows that both have, and that have vectors in both."""
    reference = setting.reference
    sides, along = select_rows(
        {"reference": reference.representation, "current": current},
        {"kept": np.arange(reference.n_rows)},
        rows=rows,
        missing=missing,
    )
    kept = along["kept"]
    if len(kept) == reference.n_rows:
        return setting, sides["current"]
    if len(kept) < _FEWEST_ROWS:
        raise ValueError(f"current must share at least {_FEWEST_ROWS} rows with the reference, got {len(kept)}")
    part, floor = reference.take(kept), setting.unchanged
    if floor is not None:
        floor = floor.take(kept, [reference.classes.index(name) for name in part.classes])
        state(f"noise floor measured with all {reference.n_rows:,} rows of the reference")
    return replace(setting, reference=part, unchanged=floor), sides["current"]


@dataclass(frozen=True)
class CheckResult:
    """Results of one check, before evidence is accumulated over several checks."""

    scores: tuple[DriftScore, ...]
    rows: tuple[Moved, ...] = ()
    classes: tuple[Moved, ...] = ()
    reason: str = ""


def run_check(current: Any, setting: Setting) -> CheckResult:
    """Compare rows with the reference; NaN gives a verdict with a reason, unfit inputs raise an error."""
    reference = setting.reference.representation
    values, names = split_names(current, "current")
    array = check.raw_matrix(values, "current", min_rows=1)
    if len(array) != reference.n_rows:
        # If both have names, an error about these says more than one about the number of rows.
        orders({"reference": reference.names, "current": names})
    require_count(len(array), reference, "current")
    broken = np.flatnonzero(~np.isfinite(np.asarray(array, dtype=np.float64)).all(axis=1))
    if len(broken):
        reason = f"current has NaN or infinity in {len(broken):,} of {len(array):,} rows: {check.join_items(broken)}"
        reason += '; missing="drop" leaves them out'
        return CheckResult(tuple(_missing_scores(setting, reason)), reason=reason)
    representation = Representation.build(array, "current")
    representation.names = names
    after = check_same_rows(representation, reference, "current")
    values, reasons = drifts(setting.measures, reference, after)
    scores = (
        _rank_among_reencodings(setting, values, reasons)
        if setting.unchanged
        else _test_tolerance(setting, after, values, reasons)
    )
    moved = row_movement(reference, after)
    return CheckResult(tuple(scores), _rows(setting, moved), _classes(setting, moved), scores[0].reason)


def _missing_scores(setting: Setting, reason: str) -> list[DriftScore]:
    limits = [rank_p_values.threshold(null, setting.level) for null in _nulls(setting)]
    limits_of_measures = zip(setting.measures, setting.tiers, limits, strict=True)
    return [
        DriftScore(measure.name, tier, np.nan, limit, np.nan, reason=reason)
        for measure, tier, limit in limits_of_measures
    ]


def _nulls(setting: Setting) -> list[Vector]:
    if setting.unchanged is None:
        return [np.full(rank_p_values.fewest_for(setting.level), setting.tolerance)] * len(setting.measures)
    return list(setting.unchanged.drifts.T)


def _rank_among_reencodings(setting: Setting, values: Vector, reasons: list[str]) -> list[DriftScore]:
    """Rank the drift by each measure among the drifts of the re-encodings."""
    scores = []
    for i, null in enumerate(_nulls(setting)):
        value, limit = float(values[i]), rank_p_values.threshold(null, setting.level)
        usual = float(null[np.isfinite(null)].mean()) if np.isfinite(null).any() else np.nan
        known = (setting.measures[i].name, setting.tiers[i], value, limit, rank_p_values.p_value(value, null))
        scores.append(DriftScore(*known, unchanged=usual, beyond=value > limit, reason=reasons[i]))
    return scores


def _test_tolerance(setting: Setting, after: Representation, values: Vector, reasons: list[str]) -> list[DriftScore]:
    """Test whether the drift by each measure exceeds the tolerance by more than sampling error."""
    rng = np.random.default_rng(setting.seed)
    reference = setting.reference
    draws = half_samples(setting.measures, reference.representation, after, setting.n_resamples, rng, reference.groups)
    drifts = []
    for i, measure in enumerate(setting.measures):
        drawn = draws[measure.name]
        drawn = drawn[np.isfinite(drawn)]
        value, low, p = float(values[i]), np.nan, np.nan
        if np.isfinite(value) and len(drawn):
            around = value + drawn - drawn.mean()
            # The lower confidence limit is the k-th smallest of K values, with k = level (K + 1).
            low = -rank_p_values.threshold(-around, setting.level)
            p = rank_p_values.p_value(-setting.tolerance, -around)
        known = (measure.name, setting.tiers[i], value, setting.tolerance, p)
        drifts.append(DriftScore(*known, low=low, beyond=low > setting.tolerance, reason=reasons[i]))
    return drifts


def _rows(setting: Setting, moved: Vector) -> tuple[Moved, ...]:
    """Return the rows whose movement most exceeds that in re-encodings."""
    reference, floor = setting.reference, _floor(setting.unchanged, "rows", len(moved))
    order = np.argsort(-np.nan_to_num(moved - np.nan_to_num(floor), nan=-1.0), kind="stable")[:_MOST_ROWS]
    labels = [""] * len(moved) if reference.codes is None else [reference.classes[code] for code in reference.codes]
    known = (row for row in order.tolist() if moved[row] == moved[row])
    return tuple(Moved(reference.row_name(row), float(moved[row]), float(floor[row]), labels[row]) for row in known)


def _classes(setting: Setting, moved: Vector) -> tuple[Moved, ...]:
    reference = setting.reference
    if reference.codes is None or len(reference.classes) < 2 or np.isnan(moved).all():
        return ()
    codes: Labels = reference.codes
    means = class_means(moved, codes, len(reference.classes))
    floor = _floor(setting.unchanged, "classes", len(means))
    order = np.argsort(-means, kind="stable")[:_MOST_CLASSES].tolist()
    return tuple(Moved(reference.classes[code], float(means[code]), float(floor[code])) for code in order)


def _floor(unchanged: NoiseFloor | None, which: str, n: int) -> Vector:
    return np.full(n, np.nan) if unchanged is None else np.asarray(getattr(unchanged, which))


def differences(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """Return the recorded settings and versions that differ between two encodings.

    Examples
    --------
    >>> differences({"batch size": "32", "model": "a"}, {"batch size": "8", "model": "a"})
    ['batch size changed from 32 (reference) to 8']
    """
    shared = [name for name in before if name in after and before[name] != after[name]]
    return [f"{name} changed from {before[name]} (reference) to {after[name]}" for name in shared]
