"""The notes and pictures of the study of the geometric tax."""

from __future__ import annotations

import numpy as np

from shesha.charts import PALETTE
from shesha.studies.page import Picture
from shesha.studies.pictures import figure
from shesha_studies.stability_correlations._geometric_tax_statistics import TARGETS, TITLES, Findings
from shesha_studies.stability_correlations._geometric_tax_tables import dimension


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


def notes(found: Findings) -> tuple[str, ...]:
    """Return notes on limits and missing data."""
    wide = dimension(found).set_index("score").drop(columns=list(TARGETS)).mean(axis=1)
    return (
        "We have neither the weights of the 94 published models nor Flowers-102, DTD, EuroSAT and Oxford Pets. The "
        "comparison lists every number of Tables 22 to 41. Claims in words are tested on networks that we trained "
        "for a few seconds each. These are weak, as the accuracies in the table of families show. Without the "
        "weights of DINOv2 we cannot say whether it is unstable.",
        f"If each feature is shuffled separately, the mean feature split is {wide[TITLES['shuffled']]:.3f}. Features "
        "after ReLU and averaging share a large common direction, in trained and untrained networks. As controls we "
        "use centring, 64 features of each network, and rotations.",
        "The paper draws 5,000 rows from 1,020 flowers, so each row occurs about five times. In our networks, such "
        f"repetition changes mean stability from {wide[TITLES['stability']]:.2f} to "
        f"{wide[TITLES['repeated stability']]:.2f} and mean LogME from {wide[TITLES['logme']]:.2f} to "
        f"{wide[TITLES['repeated logme']]:.2f}.",
        "P-values are from permutations of networks, within widths if ranks are taken within widths. Networks of a "
        "family differ only in width and are not independent, so p-values with networks as units may be too small. "
        "With 3 and 10 models, as published, a two-sided p cannot be below 0.007.",
    )
