"""The notes and pictures of the study of distinctness."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from shesha.charts import PALETTE
from shesha.studies.page import Picture
from shesha.studies.pictures import figure
from shesha_studies.stability_correlations._bootstrap_correlations import Correlation, correlation
from shesha_studies.stability_correlations._distinctness_statistics import (
    LEVELS,
    PAIRS,
    TITLES,
    Findings,
    score_correlation,
)
from shesha_studies.stability_correlations._distinctness_transformations import COMPONENTS, KINDS


def tables(findings: Findings) -> tuple[tuple[str, pd.DataFrame], ...]:
    """Return all tables of the page."""
    makers: list[tuple[str, Callable[[Findings], pd.DataFrame]]] = [
        ("Rank correlation of stability and similarity, by the groups within which ranks are taken", _levels),
        ("Rank correlation with CKA by kind of transformation", _kinds_table),
        ("Distributions", _distributions),
        ("Principal components", components),
    ]
    result = [(title, make(findings)) for title, make in makers]
    if len(findings.larger) and len(findings.smaller):
        result.append(("Scores with the published rows and seeds, and with the small ones", _sizes(findings)))
    return tuple(result)


def _levels(findings: Findings) -> pd.DataFrame:
    lines = []
    for level in LEVELS:
        line = {"": level}
        for stability, similarity in PAIRS:
            rho = findings.levels[level, stability, similarity]
            line[f"{TITLES[stability]}, {TITLES[similarity]}"] = (
                f"{rho.value:+.2f} [{rho.group_low:+.2f}, {rho.group_high:+.2f}]"
            )
        lines.append(line)
    return pd.DataFrame(lines)


def _line(rho: Correlation) -> dict[str, object]:
    return {
        "N": rho.n,
        "rho": round(rho.value, 3),
        "rows resampled": f"{rho.low:+.2f} to {rho.high:+.2f}",
        "bases resampled": f"{rho.group_low:+.2f} to {rho.group_high:+.2f}",
    }


def _kinds_table(findings: Findings) -> pd.DataFrame:
    lines = []
    for kind, rho in findings.kinds.items():
        subset = findings.distinct[findings.distinct.kind == kind]
        lines.append(
            {
                "kind": kind,
                **_line(rho),
                "within bases": score_correlation(subset, by=("group",), n_draws=10, n_group_draws=10).value,
                "within variants": score_correlation(subset, by=("variant",), n_draws=10, n_group_draws=10).value,
                "within variants, basis-averaged": score_correlation(
                    subset, "averaged", by=("variant",), n_draws=10, n_group_draws=10
                ).value,
                "stability": subset.stability.mean(),
                "basis-averaged": subset.averaged.mean(),
                "shuffled": subset.shuffled.mean(),
                "CKA": subset.cka.mean(),
                "chance of CKA": subset.chance.mean(),
            }
        )
    return pd.DataFrame(lines)


def _distributions(findings: Findings) -> pd.DataFrame:
    names = ("stability", "averaged", "shuffled", "cka", "chance", "unbiased")
    return pd.DataFrame([{"": TITLES.get(name, name), **distribution(findings.rows[name])} for name in names])


def distribution(values: pd.Series[float]) -> dict[str, float]:
    """Summarise the distribution of the scores, as the published table does."""
    quantiles = {"quartile_1": 0.25, "median": 0.5, "quartile_3": 0.75}
    return {
        "mean": float(values.mean()),
        "sd": float(values.std()),
        **{name: float(values.quantile(share)) for name, share in quantiles.items()},
        "min": float(values.min()),
        "max": float(values.max()),
    }


def components(found: Findings) -> pd.DataFrame:
    """Mean scores by number of principal components, for bases with at least this number."""
    subset = found.distinct[(found.distinct.kind == "PCA") & found.distinct.d.isin(COMPONENTS)]
    means = subset.groupby("d")[["stability", "averaged", "shuffled", "cka", "chance"]].mean()
    return means.assign(bases=subset.groupby("d").size())[
        lambda table: table.bases >= min(5, subset.group.nunique())
    ].reset_index()


def _sizes(findings: Findings) -> pd.DataFrame:
    keys = ["domain", "base", "variant"]
    both = findings.smaller.merge(findings.larger, on=keys, suffixes=("", " larger"))
    lines = []
    for group, part in both.groupby("group", sort=False):
        part = part[part.repeat + part["repeat larger"] == 0]
        for name in ("stability", "averaged", "cka"):
            rho = correlation(part[name], part[f"{name} larger"], part.variant, 10)
            difference = (part[name] - part[f"{name} larger"]).abs()
            lines.append(
                {
                    "base": group,
                    "rows": f"{part.n.iloc[0]} and {part['n larger'].iloc[0]}",
                    "score": TITLES[name],
                    "rank agreement": rho.value,
                    "mean difference": difference.mean(),
                    "largest": difference.max(),
                }
            )
    return pd.DataFrame(lines)


def pictures(found: Findings) -> tuple[Picture, ...]:
    """Scores of all configurations, correlations by kind, and principal components."""
    fig, axes = figure(2, width=4.4, height=3.9)
    _scatter(axes[0], found.distinct)
    _draw_kinds(axes[1], found)
    shows = (
        "Stability against CKA of all configurations, by kind of transformation; rank correlation of the feature "
        "split and of the basis-averaged score with CKA, by kind"
    )
    return (Picture("distinctness", fig, shows),)


def _scatter(ax: Any, rows: pd.DataFrame) -> None:
    for place, kind in enumerate(KINDS):
        group = rows[rows.kind == kind]
        marker = "osv^D*P"[place]
        ax.scatter(
            group.cka,
            group.stability,
            s=10,
            marker=marker,
            color=PALETTE[place % len(PALETTE)],
            alpha=0.6,
            label=kind,
            linewidths=0,
        )
    ax.axhline(rows.shuffled.mean(), color="0.4", linewidth=0.8, linestyle="--")
    ax.set(
        xlabel="CKA between base and transformed base",
        ylabel="feature split (dashed: features shuffled)",
        ylim=(None, 1.55),
        yticks=[-0.5, 0, 0.5, 1],
    )
    ax.legend(frameon=False, fontsize="x-small", ncols=2, loc="upper left", markerscale=1.6)


def _draw_kinds(ax: Any, findings: Findings) -> None:
    places = np.arange(len(KINDS))[::-1]
    for shift, name, colour, label in (
        (0.17, "stability", PALETTE[0], "feature split"),
        (-0.17, "averaged", PALETTE[1], "basis-averaged"),
    ):
        some = [score_correlation(findings.rows[findings.rows.kind == kind], name, n_draws=10) for kind in KINDS]
        values = np.array([rho.value for rho in some])
        ends = np.array([[rho.group_low, rho.group_high] for rho in some])
        # Percentile intervals need not contain the value.
        error = np.maximum(np.abs(ends - values[:, None]) * (np.sign(ends - values[:, None]) == [-1, 1]), 0).T
        ax.errorbar(values, places + shift, xerr=error, fmt="o", markersize=5, color=colour, label=label)
    ax.axvline(0, color="0.6", linewidth=0.8)
    ax.set_yticks(places, KINDS)
    ax.set(xlabel="rank correlation with CKA (bases resampled)", xlim=(-1, 1.05), ylim=(-0.6, len(KINDS) + 0.3))
    ax.legend(frameon=False, fontsize="x-small", ncols=2, loc="upper center")


def notes(findings: Findings) -> tuple[str, ...]:
    """Return notes on limits and missing data."""
    rows = findings.rows
    unscored = int(rows.stability.isna().sum())
    distinct = findings.distinct
    sentences = [
        "A base is a representation before transformation. Our bases are MiniLM layers on SST-2 (4), networks "
        "trained here on Fashion-MNIST and CIFAR-10 (4 each), protein encoders (9), Steinmetz sessions (6) and "
        "transformations of single-cell counts (9). Sound and video are not available. Only the recipe for proteins "
        "and the recordings are those of the paper. For all other bases we test claims but do not compare numbers.",
        f"{_sizes_of_bases(findings)} Principal components are computed from the same rows, as published.",
        "Similarity here compares a transformed base with the base itself, so it is high by construction (median "
        f"{rows.cka.median():.2f}). Its chance level is {rows.chance.median():.2f}, because CKA of unrelated rows "
        "grows with the number of directions in which they vary. Opposite signs cancel when kinds are pooled, so "
        "the pooled correlation depends on the mixture of kinds (12 of 32 transformations are PCA). Transformations "
        "of the same base are not independent draws.",
        f"If each feature is shuffled separately, stability is about {distinct.shuffled.mean():.3f} for every width. "
        "The number of features alone therefore does not raise it, but it rises with the number of redundant "
        "features.",
    ]
    if unscored:
        sentences.append(
            f"Stability is not defined for {unscored} configurations of sparse data, because some row is zero in "
            "half of the features."
        )
    return tuple(sentences)


def _sizes_of_bases(findings: Findings) -> str:
    """State which bases have the published number of rows and of seeds."""
    n_full = findings.rows[findings.rows["size"] != "small"].group.nunique()
    rest = findings.rows.group.nunique() - n_full
    return (
        f"We computed {n_full} bases with the published number of rows (100 to 1,000) and 15 seeds"
        + (f", and {rest} with 150 rows and one seed" if rest else "")
        + "; a table above compares both sizes."
    )
