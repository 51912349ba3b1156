"""The tables and the picture of the study of distinctness."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from shesha.charts import PALETTE
from shesha.studies.page import Picture
from shesha.studies.pictures import figure
from shesha_studies.stability_correlations._bootstrap_correlations import Correlation
from shesha_studies.stability_correlations._distinctness_statistics import (
    LEVELS,
    PAIRS,
    TITLES,
    Findings,
    score_correlation,
)
from shesha_studies.stability_correlations._distinctness_transformations import KINDS


def tables(findings: Findings) -> tuple[tuple[str, pd.DataFrame], ...]:
    """Return the tables of the page."""
    return (
        ("Rank correlation of stability and similarity, by the groups within which ranks are taken", _levels(findings)),
        ("Rank correlation with CKA by kind of transformation", _kinds_table(findings)),
    )


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


_WITHIN: dict[str, tuple[str, ...]] = {"bases": ("group",), "variants": ("variant",)}


def _kinds_table(findings: Findings) -> pd.DataFrame:
    lines = []
    for kind, rho in findings.kinds.items():
        subset = findings.distinct[findings.distinct.kind == kind]
        means = subset[["stability", "averaged", "cka", "chance"]].mean()
        within: dict[str, float] = {
            f"within {name}": score_correlation(subset, by=by, n_draws=10, n_group_draws=10).value
            for name, by in _WITHIN.items()
        }
        lines.append({"kind": kind} | _line(rho) | dict(within) | {str(name): mean for name, mean in means.items()})
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
