"""Charts of one number against another: curves, spectra, changes along layers, and scores against each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from shesha.charts._axes import (
    BELOW,
    EXPECTED,
    OBSERVED,
    PALETTE,
    axes_or_new,
    axis_label,
    extent,
    finish,
    name_points,
    name_ticks,
    sequence_of_colours,
    tick_labels,
)
from shesha.support.types import Vector

if TYPE_CHECKING:
    from matplotlib.axes import Axes


DASHES = ("-", "--", ":", "-.")


def curves(
    x: Sequence[float],
    values: Mapping[str, Sequence[float]],
    *,
    labels: tuple[str, str] = ("", ""),
    ax: Axes | None = None,
) -> Axes:
    """Draw curves over the same x values, distinguished by colour and dashes.

    Parameters
    ----------
    x : sequence of float
        Horizontal positions of the values.
    values : mapping of str to sequence of float
        The values of each curve, by name.
    labels : pair of str
        Labels of the horizontal and the vertical axis.
    ax : matplotlib Axes, optional
        Where to draw; default: a new figure.

    Returns
    -------
    matplotlib Axes
    """
    ax = axes_or_new(ax, (4.8, 3.2))
    for place, (name, curve) in enumerate(zip(tick_labels(list(values)), values.values(), strict=True)):
        dash, colour = DASHES[place % len(DASHES)], PALETTE[place % len(PALETTE)]
        ax.plot(x, curve, dash, color=colour, marker="o", markersize=3, label=name)
    ax.set(xlabel=axis_label(labels[0], BELOW), ylabel=axis_label(labels[1]))
    return finish(ax)


_LEAST = 1e-12
"""Smallest share of the variance that is drawn; anything smaller is rounding error."""


def spectra(shares: Mapping[str, Vector], *, ordered: bool = False, ax: Axes | None = None) -> Axes:
    """Draw shares of variance against the rank of their principal direction, on logarithmic axes.

    Parameters
    ----------
    shares : mapping of str to array of shape (n_directions,)
        Shares of the variance in descending order, which add up to 1.
    ordered : bool
        Whether the order of the spectra is meaningful, as for layers. If so, colours run from dark to light.
    ax : matplotlib Axes, optional
        Where to draw; default: a new figure.

    Returns
    -------
    matplotlib Axes
    """
    ax = axes_or_new(ax, (4.8, 3.4))
    ordered_colours = sequence_of_colours(len(shares)) if ordered else ()
    for place, (name, spectrum) in enumerate(zip(tick_labels(list(shares)), shares.values(), strict=True)):
        positive = np.asarray(spectrum, dtype=float)
        positive = positive[positive > _LEAST]
        colour, dashes = PALETTE[place % len(PALETTE)], DASHES[place % len(DASHES)]
        if ordered:
            colour, dashes = ordered_colours[place], "-"
        ax.plot(np.arange(1, len(positive) + 1), positive, label=name, color=colour, linestyle=dashes)
    ax.set(xscale="log", yscale="log", xlabel="principal direction (largest first)", ylabel="share of variance")
    return finish(ax)


def depth_profile(
    names: Sequence[str],
    changes: Sequence[float],
    ends: tuple[Sequence[float], Sequence[float]],
    limits: Sequence[float],
    verdicts: Sequence[str],
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
    verdicts : sequence of str
        Verdict on each layer, as `shesha.diff` words it, which decides its mark.
    label : str
        Label of the change axis.
    ax : matplotlib Axes, optional
        Where to draw; default: a new figure.

    Returns
    -------
    matplotlib Axes
    """
    ax = axes_or_new(ax, (extent(len(names), 0.45, 2.0, 4.8), 3.6))
    places = np.arange(len(names))
    floor = _floor(changes, limits)
    value, low, high, limit = (np.maximum(np.asarray(part, dtype=float), floor) for part in (changes, *ends, limits))
    spread = np.abs(np.nan_to_num(np.vstack([value - low, high - value])))
    ax.errorbar(places, value, yerr=spread, color="#b9c7d6", ecolor=OBSERVED, capsize=2, linewidth=1, zorder=2)
    for words, (inside, mark) in _MARKS.items():
        chosen = np.array([verdict == words for verdict in verdicts])
        if chosen.any():
            ax.scatter(places[chosen], value[chosen], c=inside, edgecolor=OBSERVED, marker=mark, zorder=3, label=words)
    if np.isfinite(limit).any():
        ax.plot(places, limit, color=EXPECTED, linestyle="--", linewidth=1.2, marker="_", label="noise limit")
    ax.set_yscale("log")
    name_ticks(ax, names)
    ax.set_ylabel(axis_label(f"{label} (0: no change)"))
    return finish(ax, above=True)


_MARKS = {
    "replaced": (OBSERVED, "s"),
    "changed": (OBSERVED, "o"),
    "cannot decide": ("#e9c09f", "o"),
    "within noise": ("white", "o"),
    "unchanged": ("white", "v"),
}
"""Fill and shape of the mark for each verdict on a layer."""


def _floor(changes: Sequence[float], limits: Sequence[float]) -> float:
    """Return the height at which zero change is drawn: a third of the smallest positive value."""
    there = [value for value in (*changes, *limits) if value > _LEAST]
    return min(there, default=_LEAST) / 3


_NAMED = 30
"""Maximum number of points whose names are printed."""


def against_chance(
    values: tuple[ArrayLike, ArrayLike],
    chance: tuple[ArrayLike, ArrayLike],
    names: Sequence[str] = (),
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw each point together with its chance level, a hollow point that a thin line joins to it.

    Parameters
    ----------
    values, chance : pairs of arrays of shape (n,)
        Horizontal and vertical coordinates of the points and of their chance levels.
    names : sequence of str
        Names of the items, printed next to the points if there are at most thirty.
    ax : matplotlib Axes, optional
        Where to draw; default: a new figure.

    Returns
    -------
    matplotlib Axes
    """
    ax = axes_or_new(ax, (6.4, 4.6))
    x, y = (np.asarray(coordinate, dtype=float) for coordinate in values)
    x0, y0 = (np.asarray(coordinate, dtype=float) for coordinate in chance)
    ax.plot(np.stack([x0, x]), np.stack([y0, y]), color=EXPECTED, linewidth=0.6, alpha=0.5, zorder=1)
    ax.scatter(x0, y0, s=26, facecolors="none", edgecolors=EXPECTED, zorder=2, label="chance, groups of the same size")
    ax.scatter(x, y, s=26, color=PALETTE[0], linewidths=0, zorder=3, label="groups")
    finish(ax, above=True)
    if len(names) <= _NAMED:
        # Only the upper half is named, because names in the crowded lower half would overlap.
        middle = np.median(y[np.isfinite(y)]) if np.isfinite(y).any() else np.inf
        upper = [place for place in np.argsort(-y).tolist() if y[place] >= middle and place < len(names)]
        name_points(ax, list(zip(x, y, strict=True)), {place: names[place] for place in upper})
    return ax
