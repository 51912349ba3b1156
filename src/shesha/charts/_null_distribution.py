"""A null distribution with the observed value."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import TYPE_CHECKING

from shesha.charts._axes import EXPECTED, OBSERVED, axes_or_new, literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def null_distribution(
    null: Sequence[float],
    observed: float,
    threshold: float,
    *,
    label: str = "",
    drawn: str = "rows matched at random",
    ax: Axes | None = None,
) -> Axes:
    """Draw a histogram of a null distribution, the observed value and the threshold.

    Parameters
    ----------
    null : sequence of float
        The draws. NaN and infinite values are omitted.
    observed, threshold : float
        Values at which vertical lines are drawn, unless they are NaN.
    label : str
        Name of the measured value.
    drawn : str
        Description of the null distribution for the legend.
    ax : matplotlib Axes, optional
        Where to draw; default: a new figure.

    Returns
    -------
    matplotlib Axes
    """
    ax = axes_or_new(ax, (4.8, 3.0))
    finite = [value for value in null if isfinite(value)]
    ax.hist(
        finite, bins=min(30, max(5, len(finite) // 8)), color="#b9c7d6", edgecolor="#6d8093", linewidth=0.8, label=drawn
    )
    if isfinite(threshold):
        ax.axvline(threshold, color=EXPECTED, linestyle="--", linewidth=1.2, label="threshold")
    if isfinite(observed):
        ax.axvline(observed, color=OBSERVED, linewidth=2, label="observed")
    ax.set_xlabel(literal(label))
    ax.set_ylabel("draws")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize="small")
    return ax
