"""Pictures of the results: the ranks of the measures, and own values against published ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shesha._optional import require
from shesha.benchmark.ranks import Pooling, rank, rank_table
from shesha.benchmark.tables import OTHER, TYPES, matched, type_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

# Okabe and Ito's colours: they differ for the colour-blind as well.
_PALETTE = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#7f7f7f", "#000000", "#c5b000")
_COLOURS = dict(zip([*TYPES, OTHER], _PALETTE, strict=False))
_ROW = 0.21
"""Inches per measure."""
_ENTRY = 1.3
"""Inches per entry of a legend."""
_CROWD = 500
"""From this many points on they are drawn small and faint."""


def plot_ranks(results: pd.DataFrame, axes: Any = None, *, pooling: Pooling = "cls") -> Any:
    """Draw the ranks of the measures as boxes, best on top, one panel per domain.

    Parameters
    ----------
    results : DataFrame
        As `published` returns it; ranked by the rule of `rank`.
    axes : sequence of matplotlib Axes, optional
        One per domain; default: a new figure.
    pooling : {'cls', 'mean', 'all'}
        As for `rank`.

    Returns
    -------
    array of matplotlib Axes
        Boxes from the first to the third quartile with the median, whiskers to the extremes; colours tell the type.
    """
    plt = require("matplotlib.pyplot", "plot", "plots need matplotlib")
    order, ranks = rank(results, pooling=pooling), rank_table(results, pooling=pooling)
    domains = list(order["domain"].unique())
    if axes is None:
        rows = int(order["domain"].value_counts().max())
        size = (3.4 * len(domains) + 0.4, _ROW * rows + 1.5)
        _, axes = plt.subplots(1, len(domains), figsize=size, layout="constrained", squeeze=False)
    panels = np.asarray(axes, dtype=object).ravel()
    if len(panels) != len(domains):
        raise ValueError(f"axes must be one per domain ({len(domains)}), got {len(panels)}")
    for ax, domain in zip(panels, domains, strict=True):
        own = ranks[ranks["domain"] == domain].groupby("measure")["rank"]
        measures = [name for name in order.loc[order["domain"] == domain, "measure"] if own.get_group(name).count()]
        _boxes(ax, measures, [own.get_group(name).dropna().to_numpy() for name in measures])
        ax.set_title(domain)
    _legend(panels[-1].figure, list(order["measure"]))
    return panels


def plot_agreement(own: pd.DataFrame, published: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw one's own values against the published ones, one colour per test; on the diagonal they are equal.

    Parameters
    ----------
    own, published : DataFrame
        As for `agreement`.
    ax : matplotlib Axes, optional
        Where to draw; default: a new figure.

    Returns
    -------
    matplotlib Axes
    """
    plt = require("matplotlib.pyplot", "plot", "plots need matplotlib")
    both = matched(own, published).dropna(subset=["own", "published"])
    if both.empty:
        raise ValueError("own must hold scores that published holds as well, got none")
    if ax is None:
        _, ax = plt.subplots(figsize=(5.2, 5.0), layout="constrained")
    tests = list(both["test"].unique())
    # In the order of the values no test lies on top of the others.
    both = both.sort_values("own", kind="stable")
    colours = [_PALETTE[tests.index(test) % len(_PALETTE)] for test in both["test"]]
    size, alpha = (14, 0.75) if len(both) < _CROWD else (5, 0.45)
    ax.axline((0, 0), slope=1, color="0.6", linewidth=1, zorder=1)
    ax.scatter(both["published"], both["own"], s=size, color=colours, alpha=alpha, linewidths=0)
    limits = _limits(both[["own", "published"]].to_numpy(dtype=float))
    ax.set(xlim=limits, ylim=limits, xlabel="published", ylabel="own")
    ax.set_box_aspect(1)
    ax.spines[["top", "right"]].set_visible(False)
    for place, test in enumerate(tests):
        ax.scatter([], [], s=18, color=_PALETTE[place % len(_PALETTE)], label=str(test).replace("_", " "))
    ax.legend(loc="lower right", fontsize="small", handletextpad=0.2)
    return ax


def _limits(values: np.ndarray[Any, np.dtype[np.float64]]) -> tuple[float, float]:
    low, high = float(values.min()), float(values.max())
    margin = 0.04 * max(high - low, 0.1)
    return low - margin, high + margin


def _boxes(ax: Axes, measures: list[str], ranks: list[np.ndarray[Any, np.dtype[np.float64]]]) -> None:
    places = range(len(measures))
    drawn = ax.boxplot(
        ranks,
        positions=places,
        orientation="horizontal",
        widths=0.65,
        whis=(0, 100),
        patch_artist=True,
        medianprops={"color": "black", "linewidth": 1.5},
    )
    for box, measure in zip(drawn["boxes"], measures, strict=True):
        box.set(facecolor=_COLOURS[type_of(measure)], edgecolor="0.25", linewidth=0.7)
    for line in (*drawn["whiskers"], *drawn["caps"]):
        line.set(color="0.45", linewidth=0.7)
    ax.set_yticks(places, measures, fontsize=8)
    ax.set_ylim(len(measures) - 0.4, -0.6)
    ax.set_xlabel("rank (1 is best)")
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.grid(axis="x", color="0.9", linewidth=0.6)
    ax.set_axisbelow(True)


def _legend(figure: Any, measures: list[str]) -> None:
    from matplotlib.patches import Patch

    shown = {type_of(measure) for measure in measures}
    handles = [Patch(facecolor=colour, label=kind) for kind, colour in _COLOURS.items() if kind in shown]
    columns = min(len(handles), max(2, int(figure.get_size_inches()[0] / _ENTRY)))
    figure.legend(handles=handles, loc="outside lower center", ncols=columns, frameon=False, fontsize="small")
