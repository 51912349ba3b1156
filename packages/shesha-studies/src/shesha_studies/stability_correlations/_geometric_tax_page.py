"""The tables and the picture of the study of the geometric tax."""

from __future__ import annotations

import numpy as np
import pandas as pd

from shesha.charts import PALETTE
from shesha.studies.page import Picture
from shesha.studies.pictures import figure
from shesha_studies.stability_correlations._geometric_tax_statistics import (
    STABILITIES,
    TARGETS,
    TITLES,
    TRANSFERS,
    Findings,
)


def tables(findings: Findings) -> tuple[tuple[str, pd.DataFrame], ...]:
    """Return the tables of the page."""
    return (
        ("Rank correlations of stability and transfer scores over networks", _trade(findings)),
        ("Families", _families(findings)),
    )


def _trade(findings: Findings) -> pd.DataFrame:
    lines = []
    for stability in STABILITIES:
        for transfer in TRANSFERS:
            line: dict[str, object] = {"stability": TITLES[stability], "transfer": TITLES[transfer]}
            for target in TARGETS:
                every, same = (findings.trade[stability, transfer, target, flag] for flag in (False, True))
                line[target] = f"{every.value:+.2f} (p {every.p:.3f})"
                line[f"{target}, same width"] = f"{same.value:+.2f} (p {same.p:.3f})"
            lines.append(line)
    return pd.DataFrame(lines)


def _families(findings: Findings) -> pd.DataFrame:
    columns = [f"{name} {target}" for target in TARGETS for name in ("stability", "averaged", "logme", "accuracy")]
    return findings.rows.groupby("family")[columns].mean().reset_index()


def pictures(findings: Findings) -> tuple[Picture, ...]:
    """Draw stability against LogME for every target, and LogME against width for both computations."""
    fig, axes = figure(len(TARGETS) + 1, width=3.6, height=3.6)
    objectives = list(dict.fromkeys(findings.rows.objective))
    for ax, target in zip(axes, TARGETS, strict=False):
        for place, objective in enumerate(objectives):
            group = findings.rows[findings.rows.objective == objective]
            colour = PALETTE[place % len(PALETTE)]
            ax.scatter(
                group[f"logme {target}"],
                group[f"stability {target}"],
                s=np.sqrt(group.width) * 3.5,
                color=colour,
                marker="osv^D"[place % 5],
                alpha=0.75,
                linewidths=0,
                label=objective,
            )
        rho = findings.trade["stability", "logme", target, True]
        ax.set(xlabel="LogME", title=f"{target}: {rho.value:+.2f} at equal width")
        ax.title.set_fontsize("medium")
    axes[0].set_ylabel("stability (chance: 0; marker size: width)")
    axes[0].legend(frameon=False, fontsize="x-small")
    for place, name in enumerate(("few published logme", "few logme", "logme")):
        means = findings.rows.groupby("width")[[f"{name} {target}" for target in TARGETS]].mean().mean(axis=1)
        axes[-1].plot(means.index, means, marker="osv"[place], color=PALETTE[place], label=TITLES[name])
    axes[-1].axvline(200, color="0.6", linewidth=0.8, linestyle="--")
    axes[-1].set(xlabel="features (dashed: 200 rows)", ylabel="LogME, mean over images")
    axes[-1].legend(frameon=False, fontsize="x-small")
    shows = (
        "Stability against LogME of every network on three image sets; mean LogME against the number of features, "
        "exact and as computed by the public code"
    )
    return (Picture("geometric_tax", fig, shows),)
