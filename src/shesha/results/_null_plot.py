"""A null distribution with the observed value, as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import TYPE_CHECKING

from shesha._optional import require
from shesha.results._labels import literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw(null: Sequence[float], observed: float, threshold: float, label: str, ax: Axes | None) -> Axes:
    """Draw a histogram of the null, the observed value and the threshold."""
    plt = require("matplotlib.pyplot", "plot", "plots need matplotlib")
    if ax is None:
        _, ax = plt.subplots(figsize=(4.8, 3.0), layout="constrained")
    finite = [value for value in null if isfinite(value)]
    ax.hist(finite, bins=min(30, max(5, len(finite) // 8)), color="#b9c7d6", label="rows matched at random")
    if isfinite(threshold):
        ax.axvline(threshold, color="#7f7f7f", linestyle="--", linewidth=1.2, label="threshold")
    if isfinite(observed):
        ax.axvline(observed, color="#c55a11", linewidth=2, label="observed")
    ax.set_xlabel(literal(label))
    ax.set_ylabel("draws")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize="small")
    return ax
