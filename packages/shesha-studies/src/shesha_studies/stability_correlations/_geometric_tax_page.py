"""The notes and pictures of the study of the geometric tax."""

from __future__ import annotations

from itertools import combinations

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
    shuffled_correlation,
)


def tables(findings: Findings, published: pd.DataFrame) -> tuple[tuple[str, pd.DataFrame], ...]:
    """Return all tables of the page."""
    return (
        ("Rank correlations of stability and transfer scores over networks", _trade(findings)),
        ("Rank correlations of scores with the number of features, and mean scores", dimension(findings)),
        ("Rank correlation of the same score between two image sets", agreement(findings)),
        ("Families", _families(findings)),
        ("Comparison of objectives and architectures (Mann-Whitney test)", _comparisons(findings)),
        ("Published families: rank correlation of stability and LogME", families_published(published)),
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


def dimension(findings: Findings) -> pd.DataFrame:
    """Rank correlation of every score with the number of features, and its mean."""
    lines = []
    for name, title in TITLES.items():
        line: dict[str, object] = {"score": title}
        for target in TARGETS:
            table = findings.rows.dropna(subset=[f"{name} {target}"])
            line[target] = table[f"{name} {target}"].corr(table.width.astype(float), method="spearman")
            line[f"{target}, mean"] = table[f"{name} {target}"].mean()
        lines.append(line)
    return pd.DataFrame(lines)


def width_correlations(found: Findings, name: str) -> list[float]:
    """Rank correlation of a score with the number of features, one per target."""
    table = dimension(found)
    return [
        float(value) for value in np.asarray(table[table.score == TITLES[name]][list(TARGETS)], dtype=np.float64)[0]
    ]


def agreement(findings: Findings) -> pd.DataFrame:
    """Rank agreement of scores between targets, over all networks and within widths."""
    lines = []
    for name in (*STABILITIES, "logme", "accuracy"):
        for first, second in combinations(TARGETS, 2):
            every, same = (
                findings.rank_correlation(f"{name} {first}", f"{name} {second}", same_width=flag)
                for flag in (False, True)
            )
            lines.append(
                {
                    "score": TITLES[name],
                    "images": f"{first}, {second}",
                    "all": every.value,
                    "same width": same.value,
                    "p": same.p,
                }
            )
    return pd.DataFrame(lines)


def _families(findings: Findings) -> pd.DataFrame:
    columns = [f"{name} {target}" for target in TARGETS for name in ("stability", "averaged", "logme", "accuracy")]
    return findings.rows.groupby("family")[columns].mean().reset_index()


def _comparisons(findings: Findings) -> pd.DataFrame:
    lines = []
    for title, column, group, others in COMPARISONS:
        for target in TARGETS:
            for score in ("stability", "averaged"):
                numbers = findings.compared(target, column, group, others, score)
                lines.append({"compared": title, "images": target, "score": TITLES[score], **numbers})
    return pd.DataFrame(lines)


COMPARISONS: tuple[tuple[str, str, str, tuple[str, ...]], ...] = (
    ("contrastive, other self-supervised", "objective", "contrastive", ("autoencoder", "rotation")),
    ("hierarchical, columnar", "shape", "hierarchical", ("columnar",)),
    ("supervised, self-supervised", "objective", "supervised", ("contrastive", "autoencoder", "rotation")),
    ("untrained, trained", "objective", "untrained", ("supervised", "contrastive", "autoencoder", "rotation")),
)


def families_published(published: pd.DataFrame) -> pd.DataFrame:
    """Rank correlation of the families of Tables 29 and 41, with and without DINOv2."""
    wide = [
        published[published["where"] == f"Geometric Stability, Table {table}"]
        .pivot_table(index="row", columns="number", values="published", aggfunc="first")
        .astype(float)
        for table in (29, 41)
    ]
    lines = []
    for images in wide[1].columns:
        both = pd.concat([table[images] for table in wide], axis=1, keys=["stability", "LogME"]).dropna()
        line: dict[str, object] = {"images": images, "families": len(both)}
        for name, scores in (("all", both), ("without DINOv2", both.drop("DINOv2"))):
            ranks = scores.rank() - (len(scores) + 1) / 2
            rho = shuffled_correlation(ranks["stability"].to_numpy(), ranks["LogME"].to_numpy(), np.zeros(len(scores)))
            line[name], line[f"p, {name}"] = rho.value, rho.p
        lines.append(line)
    return pd.DataFrame(lines)


def few_rows(found: Findings) -> tuple[float, float]:
    """Mean LogME of 200 rows of the widest networks, exact and by the public code."""
    table = found.rows[found.rows.width == found.rows.width.max()]
    exact, code = (
        float(table[[f"{name} {target}" for target in TARGETS]].to_numpy().mean())
        for name in ("few logme", "few published logme")
    )
    return exact, code


def significantly_negative(published: pd.DataFrame) -> int:
    """Count the published correlations of LogME and stability below 0 with p < 0.05."""
    from scipy.stats import t

    lines = published[(published["where"] == "Geometric Stability, Table 23") & (published.row == "LogME vs Shesha-FS")]
    values = lines.published.astype(float).to_numpy()
    freedom = 93 - 2
    p = 2 * t.sf(np.abs(values) * np.sqrt(freedom / (1 - values**2)), freedom)
    return int(((values < 0) & (p < 0.05)).sum())


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
        "With 3 and 10 models, as published, a two-sided p cannot be below 0.007, so the published 0.003 is one-sided.",
    )
