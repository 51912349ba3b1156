"""Plot how the measures rank."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shesha.charts import PALETTE, boxes, legend_of_colours, pyplot
from shesha_bench.measure_ranks import Pooling, rank, rank_table
from shesha_bench.paper_tables import OTHER, TYPES, measure_type

if TYPE_CHECKING:
    import pandas as pd

_COLOURS = dict(zip([*TYPES, OTHER], PALETTE, strict=False))
_ROW = 0.21
"""Height in inches that a figure needs for each measure."""


def plot_ranks(results: pd.DataFrame, axes: Any = None, *, pooling: Pooling = "cls") -> Any:
    """Draw the ranks of each measure as a box plot, with the best on top and one panel per domain.

    Parameters
    ----------
    results : DataFrame
        Scores with the columns of `published`. They are ranked as `rank` does.
    axes : sequence of matplotlib Axes, optional
        Axes to draw on, one per domain; default: a new figure.
    pooling : {'cls', 'mean', 'all'}
        As for `rank`.

    Returns
    -------
    array of matplotlib Axes
        The panels, one per domain. Boxes show the median and quartiles, whiskers extend to the extremes, and colours
        show the type of each measure.
    """
    plt = pyplot()
    order, ranks = rank(results, pooling=pooling), rank_table(results, pooling=pooling)
    domains = list(order["domain"].unique())
    if axes is None:
        rows = int(order["domain"].value_counts().max())
        size = (3.4 * len(domains) + 0.4, _ROW * rows + 1.5)
        _, axes = plt.subplots(1, len(domains), figsize=size, layout="constrained", squeeze=False)
    panels = np.asarray(axes, dtype=object).ravel()
    if not all(hasattr(panel, "boxplot") for panel in panels):
        raise TypeError(f"axes must be Axes of matplotlib, got {axes!r}")
    if len(panels) != len(domains):
        raise ValueError(f"axes must be one per domain ({len(domains)}), got {len(panels)}")
    for ax, domain in zip(panels, domains, strict=True):
        groups = ranks[ranks["domain"] == domain].groupby("measure")["rank"]
        measures = [name for name in order.loc[order["domain"] == domain, "measure"] if groups.get_group(name).count()]
        values = {name: groups.get_group(name).dropna().to_numpy() for name in measures}
        boxes(ax, values, [_COLOURS[measure_type(name)] for name in measures], label="rank (1 is best)")
        ax.set_title(domain)
    shown = set(map(measure_type, order["measure"]))
    legend_of_colours(panels[-1].figure, {kind: colour for kind, colour in _COLOURS.items() if kind in shown})
    return panels
