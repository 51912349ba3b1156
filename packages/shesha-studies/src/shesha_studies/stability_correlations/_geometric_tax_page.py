"""What the study of the geometric tax says, draws and warns of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shesha.charts import PALETTE
from shesha.studies.page import Picture
from shesha.studies.pictures import figure
from shesha_studies.stability_correlations._geometric_tax_statistics import TARGETS, TITLES, Findings
from shesha_studies.stability_correlations._geometric_tax_tables import dimension

if TYPE_CHECKING:
    pass


def pictures(findings: Findings) -> tuple[Picture, ...]:
    """Stability against LogME for every target, and LogME against width by both ways to compute it."""
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
    axes[0].set_ylabel("stability (chance: 0; size: width)")
    axes[0].legend(frameon=False, fontsize="x-small")
    for place, name in enumerate(("few published logme", "few logme", "logme")):
        means = findings.rows.groupby("width")[[f"{name} {target}" for target in TARGETS]].mean().mean(axis=1)
        axes[-1].plot(means.index, means, marker="osv"[place], color=PALETTE[place], label=TITLES[name])
    axes[-1].axvline(200, color="0.6", linewidth=0.8, linestyle="--")
    axes[-1].set(xlabel="features (dashed: 200 rows)", ylabel="LogME, mean over images")
    axes[-1].legend(frameon=False, fontsize="x-small")
    shows = (
        "Stability against LogME of every network on three sets of images; mean LogME against the number of "
        "features, exact "
        "and as the public code computes it"
    )
    return (Picture("geometric_tax", fig, shows),)


def notes(found: Findings) -> tuple[str, ...]:
    """Say what would fool a reader, and what is missing."""
    wide = dimension(found).set_index("score").drop(columns=list(TARGETS)).mean(axis=1)
    return (
        "We do not have weights of the 94 published models, or Flowers-102, DTD, EuroSAT and Oxford Pets. "
        "Every number of Tables 22 to 41 is listed. Claims in words are checked on networks trained here for "
        "seconds, which are weak (accuracies above). Only its weights can show whether DINOv2 is unstable.",
        f"Chance: with each feature shuffled separately the feature split is {wide[TITLES['shuffled']]:.3f} on "
        "average. Features after ReLU and averaging share a large common direction, trained or not. The controls are "
        "centring, 64 features of each network, and rotations.",
        f"Rows can be drawn five times, as 5,000 of 1,020 flowers are. Stability is then "
        f"{wide[TITLES['repeated stability']]:.2f} instead of "
        f"{wide[TITLES['stability']]:.2f}, LogME {wide[TITLES['repeated logme']]:.2f} instead of "
        f"{wide[TITLES['logme']]:.2f}.",
        "P-values come from permuted networks, within widths if ranks are within widths. Networks of one family "
        "differ only in width, so there are fewer families than networks. With 3 and 10 models, as published, "
        "p cannot be below 0.007.",
    )
