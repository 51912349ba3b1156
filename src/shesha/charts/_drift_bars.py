"""Drifts and their thresholds, one line per measure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from shesha.charts._axes import EXPECTED, OBSERVED, axes_or_new, literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LEAST = 1e-16


def drift_bars(
    names: Sequence[str], drifts: Sequence[float], thresholds: Sequence[float], *, ax: Axes | None = None
) -> Axes:
    """Draw drifts and thresholds on a logarithmic scale, because measures differ by orders of magnitude.

    Parameters
    ----------
    names : sequence of str
        Names of the measures.
    drifts, thresholds : sequence of float
        The drift and the threshold of each measure. Values of 0 or less are drawn at the left edge.
    ax : matplotlib Axes, optional
        Where to draw; default: a new figure.

    Returns
    -------
    matplotlib Axes
    """
    ax = axes_or_new(ax, (5.6, 0.5 * len(names) + 1.2))
    places = np.arange(len(names))[::-1]
    values, limits = (np.maximum(np.asarray(part, dtype=float), _LEAST) for part in (drifts, thresholds))
    ax.scatter(values, places, color=OBSERVED, zorder=3, label="drift")
    ax.scatter(limits, places, color=EXPECTED, marker="|", s=200, label="threshold")
    ax.hlines(places, np.minimum(values, limits), np.maximum(values, limits), color="#b9c7d6")
    ax.set_xscale("log")
    ax.set_yticks(places, [literal(name) for name in names])
    ax.set_xlabel("drift (0 = same geometry)")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize="small", loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2)
    return ax
