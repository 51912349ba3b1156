"""The page of the study of structured perturbations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from shesha.charts import PALETTE
from shesha.studies.page import Page, Picture
from shesha.studies.pictures import figure
from shesha.studies.published_checks import Table, lines_of, split_numbers_and_claims
from shesha_studies.language._drift_measures import NAMES
from shesha_studies.language._perturbed_models import stand_in
from shesha_studies.language._structured_perturbation_checks import LEAST, SHOWN, TABLES, change_key, checks
from shesha_studies.language._tiny_gpt import TINY

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def make_page(rows: Table, lines: Table) -> Page:
    """Make the page: orders and ratios of the scores for stand-ins, raw and on a common scale."""
    published, claims = split_numbers_and_claims(lines)
    means = rows.groupby(["model", "kind", "amount"])[list(SHOWN)].mean()
    name = stand_in(rows, LEAST)
    table = means.loc[name]
    tables = (
        (
            f"Comparison with Tables 43 to 46: {name} (means over draws and sets of sentences)",
            _join_published(table, published),
        ),
        ("All stand-ins", means.reset_index()),
        ("Drift divided by that of weights in bfloat16", _in_units(means)),
    )
    notes = (
        "The published numbers are means over 16 causal models of 0.1 to 7 billion weights. Their 50 prompts of "
        "each of four kinds were written by language models and are not published. We use sentences from STS-B "
        "(news, captions, forums) and SST-2.",
        "1 - rho (Shesha), 1 - CKA and the Procrustes distance have different scales. Each is 0 for no change and "
        "about 1 if nothing is shared (Procrustes: up to 1.4), but the curves in between differ. A ratio of two of "
        "these drifts therefore compares scales, not sizes of changes.",
        "We simulate weights of fewer bits by rounding float weights as bitsandbytes would, and we merge random "
        "adapters into the weights. Adapters of the same scale cause less drift in a small model, because their "
        "size is set per entry, whatever the size of the weights.",
    )
    return Page("", tables, (_picture(rows, published),), notes, tuple(checks(table, name, published, claims)))


def _join_published(means: Table, published: Table) -> Table:
    lines = []
    for table in TABLES:
        for row, group in lines_of(published, table).groupby("row", sort=False):
            key = change_key(table, str(row))
            values = {line.number: float(line.published) for line in group.itertuples()}
            drift = means.loc[key].to_dict() if key in means.index else {}
            pairs = {
                f"{name}{what}": side.get(name)
                for name in SHOWN[:3]
                for what, side in (("", drift), (", published", values))
            }
            lines.append({"table": table, "change": key[0], "amount": key[1], **pairs, "squared": drift.get("squared")})
    return pd.DataFrame(lines)


def _in_units(means: Table) -> Table:
    """Drift in units of that of weights in bfloat16."""
    tables = []
    for name, group in means.groupby("model", sort=False):
        if (name, "precision", 16.0) in means.index:
            tables.append(group / means.loc[(name, "precision", 16.0)])
    return pd.concat(tables).reset_index() if tables else means.reset_index().head(0)


def _picture(rows: Table, published: Table) -> Picture:
    fig, axes = figure(4, width=3.1, height=3.5)
    _curves(axes[0], lines_of(published, "Table 43"))
    real = stand_in(rows, LEAST)
    for ax, name in zip(axes[1:3], (TINY[0], real if real != TINY[0] else TINY[1]), strict=True):
        means = rows[(rows.model == name) & (rows.kind == "noise")].groupby("amount")[list(SHOWN)].mean()
        for place, what in enumerate(SHOWN):
            ax.plot(means.index, means[what], "o-", markersize=3, color=PALETTE[place], label=NAMES[what])
        ax.set(title=name, xlabel="noise")
    highest = max(ax.get_ylim()[1] for ax in axes[:3])
    for ax in axes[:3]:
        ax.set_ylim(0, highest)
    axes[0].legend(frameon=False, fontsize="x-small")
    axes[1].legend(frameon=False, fontsize="x-small")
    _units(axes[3], rows, real)
    return Picture(
        "structured_perturbation",
        fig,
        (
            "Drift against noise, published and in two stand-ins; drift of the stand-in divided by that of weights "
            "in bfloat16"
        ),
    )


def _curves(ax: Axes, lines: Table) -> None:
    for place, what in enumerate(SHOWN[:3]):
        group = lines[lines.number == what]
        ax.plot(
            group.row.astype(float),
            group.published.astype(float),
            "o-",
            markersize=3,
            color=PALETTE[place],
            label=NAMES[what],
        )
    ax.set(title="published, 16 models", xlabel="noise", ylabel="drift")


def _units(ax: Axes, rows: Table, name: str) -> None:
    means = rows[rows.model == name].groupby(["kind", "amount"])[list(SHOWN)].mean()
    unit, noise = means.loc[("precision", 16.0)], means.loc["noise"]
    for place, what in enumerate(SHOWN):
        ax.plot(noise.index, noise[what] / unit[what], "o-", markersize=3, color=PALETTE[place])
    ax.set(yscale="log", title="in units of bfloat16", xlabel="noise")
