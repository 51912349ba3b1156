"""Tables and pictures of the study `steering`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from shesha.charts import PALETTE
from shesha.studies.pictures import grid
from shesha_studies.language._steering_statistics import ALIGNMENT, Tables, correlations
from shesha_studies.sentence_encoders import FAMILIES

METRICS = {
    ALIGNMENT: "supervised alignment",
    "feature_split": "feature split",
    "procrustes": "Procrustes",
    "fisher": "Fisher",
    "silhouette": "silhouette",
    "anisotropy": "anisotropy",
}
CONTROLS = [
    *("max_drop", "largest_drop", "max_drop_chance", "random_drop", "small_drop"),
    *("supervised_alignment", "alignment_chance", "to_target", "to_target_chance"),
]


def correlation_table(tables: Tables, *, networks: bool) -> pd.DataFrame:
    """Correlations with max drop at both ranges of strengths, with p-values over networks or for both ranges."""
    lines = []
    for name, table in tables.items():
        large, small = correlations(table, "max_drop"), correlations(table, "small_drop")
        whole = correlations(table, "max_drop", whole=True) if networks else large
        for metric, label in METRICS.items():
            estimate, at_small = large[metric], small[metric]
            line = {
                "sentences": name,
                "metric": label,
                "raw": estimate.raw,
                "95 % interval": f"{estimate.raw_low:.2f} to {estimate.raw_high:.2f}",
                "p": estimate.raw_p,
                "partial": estimate.partial,
                "p of partial": estimate.partial_p,
                "p of partial, networks whole": whole[metric].partial_p,
                "raw, small strengths": at_small.raw,
                "p, small strengths": at_small.raw_p,
                "partial, small strengths": at_small.partial,
                "p of partial, small strengths": at_small.partial_p,
            }
            lines.append(line)
    of_layers = ["p, small strengths", "p of partial, small strengths"]
    return pd.DataFrame(lines).drop(columns=of_layers if networks else ["p of partial, networks whole"])


def controls_table(tables: Tables) -> pd.DataFrame:
    """Max drop, its comparisons and its controls: means over encoders."""
    means = pd.DataFrame({name: table[CONTROLS].mean() for name, table in tables.items()}).T
    for place, column in ((5, "accuracy"), (6, "length")):
        rhos = [table[column].corr(table.max_drop, method="spearman") for table in tables.values()]
        means.insert(place, f"{column} and max drop", rhos)
    return means.reset_index(names="sentences")


def draw_encoders(tables: Tables) -> Any:
    """Draw alignment and accuracy against max drop, one point per encoder."""
    figure, axes = grid(2, len(tables), width=3.6, height=3.3)
    colours = dict(zip(FAMILIES, PALETTE, strict=False))
    for (above, below), (name, table) in zip(axes.T, tables.items(), strict=True):
        for ax, x in ((above, "supervised_alignment"), (below, "accuracy")):
            for family, group in table.groupby("family", sort=False):
                ax.scatter(group[x], group.max_drop, color=colours[str(family)], s=26, label=str(family))
        above.set(title=name, xlabel="supervised alignment")
        below.set(xlabel="accuracy of the probe, without steering")
        constant = (table.accuracy - table.largest_drop).mean()
        span = np.array([table.accuracy.min(), table.accuracy.max()])
        below.plot(span, span - constant, color="0.5", linestyle="--", linewidth=1, label="all rows read as one class")
        above.axhline(table.max_drop_chance.mean(), color="0.5", linestyle=":", label="shuffled labels (mean)")
    for row in axes:
        row[0].set_ylabel("max drop of the accuracy")
    handles = {name: handle for ax in axes[:, -1] for handle, name in zip(*ax.get_legend_handles_labels(), strict=True)}
    figure.legend(
        handles.values(), handles.keys(), loc="outside lower center", ncols=4, frameon=False, fontsize="small"
    )
    return figure


def draw_causal(tables: Tables) -> Any:
    """Draw the length of a row against max drop at published strengths, and alignment against it in that unit."""
    figure, axes = grid(2, len(tables), width=3.6, height=3.3)
    for (above, below), (name, table) in zip(axes.T, tables.items(), strict=True):
        for place, (family, group) in enumerate(table.groupby("family", sort=False)):
            depth = group.encoder.str.split().str[-1].astype(int)
            way = str(family).partition(", ")[2]
            for ax, x, y in ((above, "length", "max_drop"), (below, "supervised_alignment", "small_drop")):
                ax.plot(group[x], group[y], color=PALETTE[place], linewidth=0.6, alpha=0.5)
                ax.scatter(group[x], group[y], s=6 + 2 * depth, color=PALETTE[place], marker="os^"[place], label=way)
        above.axhline(table.max_drop_chance.mean(), color="0.5", linestyle=":", label="shuffled labels (mean)")
        above.set(title=name, xlabel="mean row norm", xscale="log")
        below.set(xlabel="supervised alignment")
    axes[0, 0].set_ylabel("max drop, strengths up to 2")
    axes[1, 0].set_ylabel("max drop, strengths up to 0.1 row norms")
    handles = dict(zip(*reversed(axes[0, 0].get_legend_handles_labels()), strict=True))
    labels = [name if name.startswith("shuffled") else f"{name} (larger: deeper)" for name in handles]
    figure.legend(handles.values(), labels, loc="outside lower center", ncols=4, frameon=False, fontsize="small")
    return figure
