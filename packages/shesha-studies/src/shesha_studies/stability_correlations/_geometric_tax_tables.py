"""Tables of stability and transfer, on every target, and with the width held fixed."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd

from shesha_studies.stability_correlations._geometric_tax_statistics import (
    STABILITIES,
    TARGETS,
    TITLES,
    TRANSFERS,
    Findings,
    chance_of_jaccard,
    shuffled_correlation,
)

TOP = 5


def tables(findings: Findings, published: pd.DataFrame) -> tuple[tuple[str, pd.DataFrame], ...]:
    """Return all tables of the page."""
    return (
        ("Rank correlations of stability and transfer scores over networks", _trade(findings)),
        ("Rank correlations of scores with the number of features, and mean scores", dimension(findings)),
        ("Rank correlation of the same score between two image sets", agreement(findings)),
        ("Families", _families(findings)),
        ("Comparison of objectives and architectures (Mann-Whitney test)", _comparisons(findings)),
        ("Overlap of the top five networks by two scores (Jaccard index)", _tops(findings)),
        ("Published families: rank correlation of stability and LogME", families_published(published)),
        ("Best and worst networks by the sum of z-scores", _composite(findings)),
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


def _tops(findings: Findings) -> pd.DataFrame:
    chance = chance_of_jaccard(len(findings.rows), min(TOP, len(findings.rows)))
    lines = []
    for first, second in (
        ("logme", "stability"),
        ("logme", "variance"),
        ("variance", "stability"),
        ("logme", "accuracy"),
    ):
        line: dict[str, object] = {"scores": f"{TITLES[first]}, {TITLES[second]}"}
        for target in TARGETS:
            tops = [set(findings.rows[f"{name} {target}"].nlargest(TOP).index) for name in (first, second)]
            line[target] = len(tops[0] & tops[1]) / len(tops[0] | tops[1])
        lines.append({**line, "chance": chance})
    return pd.DataFrame(lines)


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


def composite(findings: Findings) -> pd.DataFrame:
    """Sum of z-scores of LogME, variance ratio and stability for every network and target."""
    scores = {}
    for target in TARGETS:
        table = findings.rows[[f"{name} {target}" for name in ("logme", "variance", "stability")]]
        scores[target] = ((table - table.mean()) / table.std()).sum(axis=1)
    names = findings.rows[["source", "objective", "shape", "width", "seed"]].astype(str).agg(" ".join, axis=1)
    return pd.DataFrame(scores).assign(network=names)


def _composite(findings: Findings) -> pd.DataFrame:
    table = composite(findings)
    order = table[list(TARGETS)].mean(axis=1).sort_values(ascending=False).index
    chosen = [*order[:5], *order[-3:]]
    return table.loc[list(dict.fromkeys(chosen)), ["network", *TARGETS]]


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
