"""Correlations with max drop over encoders, compared with Tables 18 to 21: tables, picture and checks of `steering`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from shesha.charts import PALETTE
from shesha.steering import partial_correlations
from shesha.studies.pictures import grid
from shesha_studies.sentence_encoders import FAMILIES

Tables = Mapping[str, "pd.DataFrame"]
METRICS = {
    "supervised_alignment": "supervised alignment",
    "feature_split": "feature split",
    "procrustes": "Procrustes",
    "fisher": "Fisher",
    "silhouette": "silhouette",
    "anisotropy": "anisotropy",
}
MIN_ENCODERS = 8


def average_encoders(rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """One table per set of sentences, one line per encoder: means over seeds; sets of few encoders are omitted."""
    numbers = [name for name in rows.columns if name not in ("sentences", "encoder", "seed")]
    tables = {}
    for name, group in rows.groupby("sentences", sort=False):
        # Drops are shares of rows, so smaller differences are rounding errors, and must be ties.
        table = group.groupby("encoder", sort=False)[numbers].mean().round(5).reset_index()
        if len(table) >= MIN_ENCODERS:
            tables[str(name)] = table.assign(family=table.encoder.str.partition(":")[0])
    return tables


def correlations(table: pd.DataFrame, target: str, *, whole: bool = False) -> Any:
    """Rank correlations with the target, raw and given Fisher and silhouette, with chance.

    The layers of a network are not independent. If `whole` is True, networks are permuted together with all their
    layers.
    """
    columns = {name: table[name].to_numpy() for name in (*METRICS, target)}
    return partial_correlations(columns, target, groups=networks(table) if whole else None, n_draws=499, seed=0)


def networks(table: pd.DataFrame) -> Any:
    """Return the network of each encoder; each encoder that counts words is treated as a network."""
    return table.family.str.partition(",")[0].where(table.family != "words", table.encoder).to_numpy()


def correlation_table(
    results: Mapping[str, Any], small: Mapping[str, Any], by_network: Mapping[str, Any] | None = None
) -> pd.DataFrame:
    """Correlations with max drop at both ranges of strengths, set by set and metric by metric."""
    lines = [
        {
            "sentences": name,
            "metric": label,
            "raw": estimate.raw,
            "95 % interval": f"{estimate.raw_low:.2f} to {estimate.raw_high:.2f}",
            "p": estimate.raw_p,
            "partial": estimate.partial,
            "p of partial": estimate.partial_p,
            **({"p of partial, networks whole": by_network[name][metric].partial_p} if by_network else {}),
            "raw, small strengths": small[name][metric].raw,
            **({} if by_network else {"p, small strengths": small[name][metric].raw_p}),
            "partial, small strengths": small[name][metric].partial,
            **({} if by_network else {"p of partial, small strengths": small[name][metric].partial_p}),
        }
        for name, result in results.items()
        for metric, label in METRICS.items()
        for estimate in (result[metric],)
    ]
    return pd.DataFrame(lines)


def controls_table(tables: Tables) -> pd.DataFrame:
    """Max drop, its comparisons and its controls: means over encoders."""
    lines = [
        {
            "sentences": name,
            "max drop": table.max_drop.mean(),
            "largest possible": table.largest_drop.mean(),
            "shuffled labels": table.max_drop_chance.mean(),
            "random directions": table.random_drop.mean(),
            "max drop, small strengths": table.small_drop.mean(),
            "accuracy and max drop, Spearman": _rank_correlation(table.accuracy, table.max_drop),
            "length and max drop, Spearman": _rank_correlation(table.length, table.max_drop),
            "alignment": table.supervised_alignment.mean(),
            "alignment, shuffled": table.alignment_chance.mean(),
            "flips": table.to_target.mean(),
            "flips, shuffled": table.to_target_chance.mean(),
        }
        for name, table in tables.items()
    ]
    return pd.DataFrame(lines)


def _rank_correlation(a: Any, b: Any) -> float:
    """Rank correlation; NaN if all values are equal or too few are known."""
    varies = len(a) > 2 and min(float(np.ptp(values)) for values in (a, b)) > 1e-9
    return float(a.corr(b, "spearman")) if varies else math.nan


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
