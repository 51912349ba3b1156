"""Correlations with max drop over encoders, beside Tables 18 to 21: tables, picture and checks of `steering`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from shesha.plots import PALETTE, pyplot
from shesha.steering import partial_correlations
from shesha.studies._encoders import FAMILIES

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

Tables = Mapping[str, "pd.DataFrame"]
METRICS = {
    "supervised_alignment": "supervised alignment",
    "feature_split": "feature split",
    "procrustes": "Procrustes",
    "fisher": "Fisher",
    "silhouette": "silhouette",
    "anisotropy": "anisotropy",
}
_THIRTY_FIVE = (
    "A correlation over published sentence encoders (35 or 69), of which one, MiniLM-L6, is at hand: its layers, "
    "trained or not, and encoders that count words stand in for the claims."
)
UNREACHABLE = {"model/": _THIRTY_FIVE, "family/": _THIRTY_FIVE}


MIN_ENCODERS = 8


def over_encoders(rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """One table per set of sentences, one line per encoder: means over seeds; sets of few encoders are left out."""
    numbers = [name for name in rows.columns if name not in ("sentences", "encoder", "seed")]
    found = {}
    for name, own in rows.groupby("sentences", sort=False):
        # Drops are counts of rows: what differs by less than that is rounding, and must not have a rank.
        table = own.groupby("encoder", sort=False)[numbers].mean().round(5).reset_index()
        if len(table) >= MIN_ENCODERS:
            found[str(name)] = table.assign(family=table.encoder.str.partition(":")[0])
    return found


def correlations(table: pd.DataFrame, target: str, *, whole: bool = False) -> Any:
    """Rank correlations with the target, raw and given Fisher and silhouette, with chance.

    The layers of a network are no independent witnesses: `whole` exchanges networks, each with all its layers.
    """
    network = table.family.str.partition(",")[0].where(table.family != "words", table.encoder)
    columns = {name: table[name].to_numpy() for name in (*METRICS, target)}
    return partial_correlations(columns, target, groups=network.to_numpy() if whole else None, n_draws=499, seed=0)


def tables_of(
    tables: Tables, found: Mapping[str, Any], small: Mapping[str, Any], whole: Mapping[str, Any]
) -> tuple[tuple[str, pd.DataFrame], ...]:
    """Tables of the page: correlations, those at small strengths, what max drop is, controls."""
    import pandas as pd

    lines = [
        {
            "sentences": name,
            "metric": label,
            "raw": one.raw,
            "95 % interval": f"{one.raw_low:.2f} to {one.raw_high:.2f}",
            "p": one.raw_p,
            "partial": one.partial,
            "p of partial": one.partial_p,
            "p of partial, networks whole": whole[name][metric].partial_p,
            "raw, small strengths": small[name][metric].raw,
            "partial, small strengths": small[name][metric].partial,
        }
        for name, result in found.items()
        for metric, label in METRICS.items()
        for one in (result[metric],)
    ]
    return (
        ("Rank correlations with max drop over encoders", pd.DataFrame(lines)),
        ("What max drop is, and controls (means over encoders)", pd.DataFrame(_controls(tables))),
        ("The seven mean-pooled layers of MiniLM alone", pd.DataFrame(_layers(tables))),
    )


def _controls(tables: Tables) -> list[dict[str, object]]:
    return [
        {
            "sentences": name,
            "max drop": table.max_drop.mean(),
            "largest possible": table.largest_drop.mean(),
            "shuffled labels": table.max_drop_chance.mean(),
            "random directions": table.random_drop.mean(),
            "accuracy and max drop, Spearman": table.accuracy.corr(table.max_drop, "spearman"),
            "alignment": table.supervised_alignment.mean(),
            "alignment, shuffled": table.alignment_chance.mean(),
            "flips": table.to_target.mean(),
            "flips, shuffled": table.to_target_chance.mean(),
        }
        for name, table in tables.items()
    ]


def _layers(tables: Tables) -> list[dict[str, object]]:
    """Rank correlations of seven numbers, of which chance passes 0.75 in 5 %; equal max drops have none."""
    made = []
    for name, table in tables.items():
        own = table[table.family == FAMILIES[0]]
        varies = len(own) > 2 and float(np.ptp(own.max_drop)) > 1e-9
        told = {
            label: own[metric].corr(own.max_drop, "spearman") if varies else math.nan
            for metric, label in METRICS.items()
        }
        made.append({"sentences": name, **told})
    return made


def drawn(tables: Tables) -> Figure:
    """Alignment and accuracy against max drop, encoder by encoder."""
    figure: Figure
    figure, axes = pyplot().subplots(
        2, len(tables), figsize=(3.6 * len(tables), 6.6), layout="constrained", squeeze=False
    )
    colours = dict(zip(FAMILIES, PALETTE, strict=False))
    for (above, below), (name, table) in zip(axes.T, tables.items(), strict=True):
        for ax, x in ((above, "supervised_alignment"), (below, "accuracy")):
            for family, own in table.groupby("family", sort=False):
                ax.scatter(own[x], own.max_drop, color=colours[str(family)], s=26, label=str(family))
            ax.spines[["top", "right"]].set_visible(False)
        above.set(title=name, xlabel="supervised alignment")
        below.set(xlabel="accuracy of the probe, not steered")
        constant = (table.accuracy - table.largest_drop).mean()
        span = np.array([table.accuracy.min(), table.accuracy.max()])
        below.plot(span, span - constant, color="0.5", linestyle="--", linewidth=1, label="all read as one class")
        above.axhline(table.max_drop_chance.mean(), color="0.5", linestyle=":", label="shuffled labels (mean)")
    for row in axes:
        row[0].set_ylabel("max drop of the accuracy")
    handles = {name: handle for ax in axes[:, -1] for handle, name in zip(*ax.get_legend_handles_labels(), strict=True)}
    figure.legend(
        handles.values(), handles.keys(), loc="outside lower center", ncols=4, frameon=False, fontsize="small"
    )
    return figure
