"""What the study of structured perturbations makes of its rows."""

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
    """Say which orders and ratios hold on the stand-ins, and what they owe to the scale of each number."""
    published, claims = split_numbers_and_claims(lines)
    means = rows.groupby(["model", "kind", "amount"])[list(SHOWN)].mean()
    name = stand_in(rows, LEAST)
    table = means.loc[name]
    tables = (
        (
            f"Comparison with Tables 43 to 46: {name}, means of draws and sets of sentences",
            _join_published(table, published),
        ),
        ("All stand-ins", means.reset_index()),
        ("Times the drift of bfloat16 weights", _in_units(means)),
    )
    notes = (
        "Published: means over 16 causal models of 0.1 to 7 billion weights, with 50 prompts of each of four "
        "kinds, made by language models and not published. Ours: sentences of STS-B (news, captions, forums) "
        "and SST-2.",
        "1 - rho, 1 - CKA and a distance have different scales. Each is 0 for no change and about 1 if "
        'nothing is shared (Procrustes: up to 1.4), but the curves in between differ. "Times more drift" '
        "compares curves, not changes.",
        "Fewer bits are simulated (float weights rounded as bitsandbytes would), and random adapters are "
        "merged. Adapters of the same scale move a small model less, because their size is per entry and "
        "independent of the weights' own size.",
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
        "Drift by noise: published, and of two stand-ins; and in units of the drift of bfloat16 weights",
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
