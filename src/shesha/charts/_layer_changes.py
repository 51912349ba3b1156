"""The change of each layer along the depth of a model, with the noise limit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from shesha.charts._axes import EXPECTED, OBSERVED, axes_or_new, literal, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LEAST = 1e-12
_TICKS = 24


def depth_profile(
    names: Sequence[str],
    changes: Sequence[float],
    ends: tuple[Sequence[float], Sequence[float]],
    limits: Sequence[float],
    *,
    label: str = "change",
    ax: Axes | None = None,
) -> Axes:
    """Draw the change of each layer with its interval and the noise limit, on a logarithmic scale.

    Parameters
    ----------
    names : sequence of str
        Names of the layers, from the first to the last.
    changes : sequence of float
        The change of each layer. A layer without any change is drawn as a triangle at the lower edge.
    ends : pair of sequences of float
        Lower and upper ends of the intervals, NaN where there is none.
    limits : sequence of float
        Noise limit of each layer, NaN if unknown.
    label : str
        Label of the change axis.
    ax : matplotlib Axes, optional
        Where to draw; default: a new figure.

    Returns
    -------
    matplotlib Axes
    """
    ax = axes_or_new(ax, (min(12.0, max(4.8, 0.45 * len(names) + 2)), 3.6))
    places = np.arange(len(names))
    floor = _floor(changes, limits)
    value, low, high, limit = (np.maximum(np.asarray(part, dtype=float), floor) for part in (changes, *ends, limits))
    spread = np.abs(np.nan_to_num(np.vstack([value - low, high - value])))
    is_beyond, none = low > limit, np.asarray(changes, dtype=float) <= _LEAST
    ax.errorbar(places, value, yerr=spread, color="#b9c7d6", ecolor=OBSERVED, capsize=2, linewidth=1, zorder=2)
    ax.scatter(places[is_beyond], value[is_beyond], color=OBSERVED, zorder=3, label="beyond noise")
    open_dots = ~is_beyond & ~none
    ax.scatter(
        places[open_dots], value[open_dots], facecolor="white", edgecolor=OBSERVED, zorder=3, label="within noise"
    )
    if none.any():
        ax.scatter(places[none], value[none], facecolor="white", edgecolor=OBSERVED, marker="v", label="no change")
    if np.isfinite(limit).any():
        ax.plot(places, limit, color=EXPECTED, linestyle="--", linewidth=1.2, marker="_", label="noise limit")
    ax.set_yscale("log")
    step = max(1, -(-len(names) // _TICKS))
    ax.set_xticks(places[::step], [shorten(name, 24) for name in names[::step]], rotation=30, ha="right")
    ax.set_ylabel(literal(f"{label} (0 = no change)"))
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize="small", loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2)
    return ax


def _floor(changes: Sequence[float], limits: Sequence[float]) -> float:
    """Return the height at which zero change is drawn: a third of the smallest positive value."""
    there = [value for value in (*changes, *limits) if value > _LEAST]
    return min(there, default=_LEAST) / 3
