"""Warnings where a design does not hold: series too short for shifts, rows that follow one another, drifts."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shesha.inputs import validation as check
from shesha.nulls.dependence import dependence, p_value_within_design
from shesha.nulls.designs import exchange
from shesha.nulls.permutations import Design, nonempty_arguments
from shesha.results import Dependence
from shesha.results.audit.dependence import DRIFT, LEVEL
from shesha.support.warnings import CalibrationWarning, warn


def warn_of_series(sides: list[NDArray[Any]], design: Design) -> None:
    """Warn where rows depend on one another in a way that the design asked for does not keep.

    Parameters
    ----------
    sides : arrays of shape (n_samples, n_features)
        What is compared; what all of them show counts.
    design : dict
        Arguments of `exchange`, at least one of them given.
    """
    asked = nonempty_arguments(design)
    found = dependence(*sides)
    reasons = [DRIFT] if found.has_drift else []
    if asked.get("shift"):
        reasons += _short_series(found, asked.get("blocks"))
    else:
        reasons += _autocorrelation_warnings(p_value_within_design(exchange(found.n_rows, **asked), *sides), asked)
    if reasons:
        warn(f"the design may find too much: {'; '.join(reasons)}", CalibrationWarning)


def _short_series(found: Dependence, blocks: ArrayLike | None) -> list[str]:
    length = _series_length(found.n_rows, blocks)
    if not found.short(length):
        return []
    return [
        f"series of {length:g} rows are short against a memory of {found.memory:.1f} rows (30 times that is enough); "
        "a drift that lasts as long as the series defeats every permutation of rows"
    ]


def _autocorrelation_warnings(p_value: float, asked: Collection[str]) -> list[str]:
    if p_value > LEVEL:
        return []
    return [
        f"rows follow one another where {' and '.join(asked)} would exchange them: neighbours are closer than after an "
        f"exchange (p = {p_value:.1g}). Rows of a series are exchangeable neither within blocks nor as short stretches "
        "or groups: use shift=True, with sessions as blocks"
    ]


def _series_length(n_rows: int, blocks: ArrayLike | None) -> float:
    """Rows of a typical series."""
    if blocks is None:
        return n_rows
    return float(np.median(np.bincount(check.labels(blocks, n_rows, "blocks", min_classes=1)[0])))
