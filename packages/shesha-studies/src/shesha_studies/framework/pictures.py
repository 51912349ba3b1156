"""Pictures that several studies use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from shesha.charts import PALETTE, pyplot
from shesha_studies.framework.facts import Fact

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

_CROWD = 7


def figure(n: int = 1, *, width: float = 4.3, height: float = 3.4, sharey: bool = False) -> tuple[Figure, list[Any]]:
    """Return a figure with its axes in one row, without frames at the top and right."""
    fig, axes = pyplot().subplots(1, n, figsize=(width * n, height), layout="constrained", sharey=sharey, squeeze=False)
    for ax in axes[0]:
        ax.spines[["top", "right"]].set_visible(False)
        ax.set_prop_cycle(color=PALETTE)
    return fig, list(axes[0])


def grid(n_rows: int, n_columns: int, *, width: float = 3.0, height: float = 2.4) -> tuple[Figure, Any]:
    """Return a figure with a grid of axes, rows x columns."""
    size = (width * n_columns, height * n_rows)
    fig, axes = pyplot().subplots(n_rows, n_columns, figsize=size, layout="constrained", squeeze=False)
    for ax in axes.flat:
        ax.set_prop_cycle(color=PALETTE)
    return fig, axes


def lines(
    ax: Any, rows: pd.DataFrame, x: str, y: str, by: str, *, order: Sequence[Any] | None = None, dashed: bool = False
) -> None:
    """Draw the mean of y against x, one line per value of `by`, with one standard deviation over draws.

    If `dashed` is true, a line that coincides with earlier lines is dashed, so that all are visible.
    """
    earlier: list[Any] = []
    near = 0.01 * float(np.ptp(rows[y]))
    for place, name in enumerate(rows[by].unique() if order is None else order):
        summary = rows[rows[by] == name].groupby(x)[y].agg(["mean", "std"])
        colour = PALETTE[place % len(PALETTE)]
        hides = sum(_overlap(line, summary["mean"], near) for line in earlier) if dashed else 0
        earlier.append(summary["mean"])
        dashes = {"linestyle": (5 * hides - 5, (5, 5 * hides))}
        style: dict[str, Any] = dashes if hides else {"marker": "o", "markersize": 3.5}
        ax.plot(summary.index, summary["mean"], color=colour, label=str(name), **style)
        spread = summary["std"].fillna(0.0)
        ax.fill_between(
            summary.index, summary["mean"] - spread, summary["mean"] + spread, color=colour, alpha=0.15, linewidth=0
        )


def panels(
    rows: pd.DataFrame,
    x: str,
    by: str,
    titles: Mapping[str, str],
    *,
    label: str,
    ylabel: str = "mean of the draws (band: one sd)",
    width: float = 4.3,
    sharey: bool = True,
    log: bool = True,
    **options: Any,
) -> tuple[Figure, list[Any]]:
    """Draw one panel per column of `titles`, in which `lines` draws the column against x."""
    fig, axes = figure(len(titles), width=width, sharey=sharey)
    for ax, (column, title) in zip(axes, titles.items(), strict=True):
        lines(ax, rows, x, column, by, **options)
        ax.set(xlabel=label, title=title)
        if log:
            logarithmic(ax, rows[x])
    axes[0].set_ylabel(ylabel)
    return fig, axes


def curves(
    ax: Any, table: pd.DataFrame, titles: Mapping[str, str], style: str = "o-", colours: Sequence[str] = PALETTE
) -> None:
    """Draw one curve per column of `titles` against the index of the table."""
    for colour, (column, title) in zip(colours, titles.items(), strict=False):
        ax.plot(table.index, table[column], style, markersize=3, color=colour, label=title)


def _overlap(first: pd.Series, second: pd.Series, near: float) -> bool:
    """Return whether two lines are nowhere further apart than `near`, too close to be distinguished."""
    return first.index.equals(second.index) and bool((first - second).abs().max() < near)


def draw_with_intervals(ax: Any, x: Iterable[float], found: Iterable[Fact], **style: Any) -> None:
    """Draw facts with their intervals against x; `style` is passed to matplotlib's `errorbar`."""
    facts = list(found)
    values = np.array([fact.value for fact in facts])
    low, high = np.array([fact.limits for fact in facts]).T
    ax.errorbar(list(x), values, yerr=[values - low, high - values], **{"capsize": 3, **style})


def logarithmic(ax: Any, values: Iterable[float]) -> None:
    """Make the horizontal axis logarithmic, with ticks at the values (or at every second one if many)."""
    ticks = sorted(set(values))
    ticks = ticks if len(ticks) < _CROWD else ticks[::-2][::-1]
    ax.set_xscale("log")
    ax.set_xticks(ticks, [f"{value:g}" for value in ticks])
    ax.set_xticks([], minor=True)


def heat(ax: Any, table: pd.DataFrame, *, limits: tuple[float, float] = (0.0, 1.0), title: str = "") -> Any:
    """Draw a table as a heat map with numbers in the cells; return the image, for a colour bar."""
    values = table.to_numpy(dtype=float)
    image = ax.imshow(values, cmap="cividis", vmin=limits[0], vmax=limits[1], aspect="auto")
    middle = (limits[0] + limits[1]) / 2
    for (line, column), value in np.ndenumerate(values):
        if not np.isnan(value):
            ink = "black" if value > middle else "white"
            ax.text(column, line, f"{value:.2f}", ha="center", va="center", color=ink, fontsize=6)
    ax.set_xticks(range(table.shape[1]), [_short(name) for name in table.columns])
    ax.set_yticks(range(table.shape[0]), [_short(name) for name in table.index])
    ax.set(xlabel=table.columns.name, ylabel=table.index.name, title=title)
    ax.tick_params(length=0)
    return image


def _short(name: Any) -> str:
    return f"{name:g}" if isinstance(name, int | float) else str(name)
