"""An audit as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan
from typing import TYPE_CHECKING

from shesha.plots import Series, intervals

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from shesha.results._audit import Audit
    from shesha.results._estimate import Estimate


def draw(audit: Audit, ax: Axes | None) -> Axes:
    """Draw the split scores of each representation with their intervals, and the chance threshold."""
    found = audit.representations
    scores = {
        "feature split": _series([one.feature_split for one in found]),
        "basis averaged": _series([one.basis_averaged_split for one in found]),
    }
    thresholds = [nan if one.chance is None else one.chance.threshold for one in found]
    return intervals([one.name for one in found], scores, thresholds, label="stability", ax=ax)


def _series(found: Sequence[Estimate | None]) -> Series:
    known = [(nan, nan, nan) if one is None else (one.value, one.low, one.high) for one in found]
    values, lows, highs = zip(*known, strict=True)
    return Series(values, lows, highs)
