"""Warnings where rows depend on one another and nobody said so, or where a series is too short for its shifts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from shesha import _validate as check
from shesha._warnings import CalibrationWarning, warn
from shesha.nulls.dependence import dependence
from shesha.nulls.orders import Design, asked_for
from shesha.results import Dependence
from shesha.views import Adjusted, Representation


def warn_of_dependence(
    sides: Sequence[Representation], design: Design, permutations: ArrayLike | None
) -> Dependence | None:
    """Warn if rows look dependent and no design was given, or if they are shifted and a series is too short.

    Returns what was found, if it was looked for.
    """
    asked = asked_for(design)
    if permutations is not None or (asked and "shift" not in asked) or any(side.given_distances for side in sides):
        return None
    # Rows that follow one another in the covariates alone are no longer alike once these are taken out.
    sides = [side.given if isinstance(side, Adjusted) and side.by_distances else side for side in sides]
    found = dependence(*(side.on_host.rows.reshape(side.n_rows, -1) for side in sides))
    if "shift" not in asked:
        if found.found:
            warn(f"permuting all rows may find too much: {found.text}", CalibrationWarning)
        return found
    length = _series_length(found.n_rows, asked.get("blocks"))
    if found.short(length):
        warn(
            f"circular shifts may find too much: series of {length:g} rows are short against a memory of "
            f"{found.memory:.1f} rows (30 times as long is long enough); a drift that lasts as long as the series "
            "defeats every permutation of rows",
            CalibrationWarning,
        )
    return found


def _series_length(n_rows: int, blocks: ArrayLike | None) -> float:
    """Rows of a typical series."""
    if blocks is None:
        return n_rows
    return float(np.median(np.bincount(check.labels(blocks, n_rows, "blocks", min_classes=1)[0])))
