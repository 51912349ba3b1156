"""The page of the study `distinctness`: our values of published numbers, tables and the picture."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from shesha.charts import PALETTE
from shesha.studies.checks import Found
from shesha.studies.page import Page, Picture
from shesha.studies.pictures import figure
from shesha.studies.published_checks import Answers, shown
from shesha_studies.stability_correlations._base_representations import SEEDS
from shesha_studies.stability_correlations._bootstrap_correlations import Correlation
from shesha_studies.stability_correlations._distinctness_statistics import (
    LEVELS,
    PAIRS,
    TITLES,
    Findings,
    score_correlation,
)
from shesha_studies.stability_correlations._distinctness_transformations import (
    COMPONENTS,
    KINDS,
    NOISE,
    PROJECTED,
    variants,
)

_PUBLISHED_WIDTHS = {
    "Language": (384, 768, 768, 768),
    "Vision": (768, 768, 768, 2048),
    "Audio": (768, 768),
    "Video": (768, 768, 768, 768),
}
_N_BASES = 79
_PER_BASE = {
    "PCA": len(COMPONENTS),
    "random projection": len(PROJECTED),
    "noise": len(NOISE),
    "normalisation": 2,
    "original": 1,
}


def make_page(findings: Findings) -> Page:
    """Return the page."""
    tables = (
        ("Rank correlation of stability and similarity, by the groups within which ranks are taken", _levels(findings)),
        ("Rank correlation with CKA by kind of transformation", _kinds_table(findings)),
    )
    fig, axes = figure(2, width=4.4, height=3.9)
    _scatter(axes[0], findings.distinct)
    _draw_kinds(axes[1], findings.rows)
    shows = (
        "Stability against CKA of all configurations, by kind of transformation; rank correlation of the feature "
        "split and of the basis-averaged score with CKA, by kind"
    )
    pictures = (Picture("distinctness", fig, shows),)
    return Page(tables=tables, pictures=pictures, answers=published_numbers(findings))


def published_numbers(findings: Findings) -> Answers:
    """Return our values by "row: number", and those of other tables by "table | row: number"."""
    answers = _counts() | shown(_distributions(findings.rows))
    for name, rho in findings.correlations.items():
        answers |= _correlation(name, rho)
    for (measure, kind), rho in findings.alternatives.items():
        answers |= _correlation(measure if kind == "all" else f"{measure} {kind}", rho)
    model = findings.mixed_model
    low, high = (model.slope + sign * 1.96 * model.error for sign in (-1, 1))
    slopes = {"beta": model.slope, "low": low, "high": high, "icc": model.shared}
    return answers | shown({f"Mixed model: {number}": value for number, value in slopes.items()})


def _correlation(name: str, rho: Correlation) -> Answers:
    """Values of one correlation; only those of proteins and recordings, which follow the paper, are judged."""
    values = {"rho": rho.value, "low": rho.low, "high": rho.high, "p": rho.p, "r squared": rho.value**2}
    answers = shown({f"{name}: {number}": value for number, value in values.items()})
    judged = name.startswith("Protein") or name == "Neuroscience"
    return answers | ({f"{name}: rho": Found(rho.value, rho.group_error)} if judged else {})


def _counts() -> Answers:
    """Counts that follow from the transformations of Table 14 and the widths of the published models."""
    counts = {name: sum(len(variants(d)) for d in widths) for name, widths in _PUBLISHED_WIDTHS.items()}
    total = sum(counts.values())
    counts |= {name: _N_BASES * each for name, each in _PER_BASE.items()}
    counts |= {"Machine learning": total, "Only transformer domains": total, "Seeds": len(SEEDS)}
    return {f"{name}: N": Found(float(count)) for name, count in counts.items()}


def _distributions(rows: pd.DataFrame) -> dict[str, float | str | None]:
    """Distributions of both scores, as in Table 17."""
    names = {"std": "sd", "25%": "quartile 1", "50%": "median", "75%": "quartile 3"}
    return {
        f"Table 17 | {score}: {names.get(str(number), number)}": value
        for score, values in (("stability", rows.stability), ("CKA", rows.cka))
        for number, value in values.describe().items()
    }


def _levels(findings: Findings) -> pd.DataFrame:
    lines = []
    for level in LEVELS:
        rhos = {f"{TITLES[pair[0]]}, {TITLES[pair[1]]}": findings.levels[level, *pair].fact for pair in PAIRS}
        lines.append({"": level} | {title: f"{rho:+.2f}" for title, rho in rhos.items()})
    return pd.DataFrame(lines)


def _kinds_table(findings: Findings) -> pd.DataFrame:
    means = findings.distinct.groupby("kind")[["stability", "averaged", "cka", "chance"]].mean()
    rhos = {kind: findings.correlations[kind] for kind in KINDS if kind in findings.correlations}
    lines = [
        {
            "kind": kind,
            "N": rho.n,
            "rho": round(rho.value, 3),
            "rows resampled": f"{rho.low:+.2f} to {rho.high:+.2f}",
            "bases resampled": f"{rho.group_low:+.2f} to {rho.group_high:+.2f}",
            "within bases": findings.by_kind[kind, "group"].value,
            "within variants": findings.by_kind[kind, "variant"].value,
            **means.loc[kind],
        }
        for kind, rho in rhos.items()
    ]
    return pd.DataFrame(lines)


def _scatter(ax: Any, rows: pd.DataFrame) -> None:
    for kind, marker, colour in zip(KINDS, "osv^D*P", PALETTE, strict=False):
        group = rows[rows.kind == kind]
        style = {"s": 10, "marker": marker, "color": colour, "alpha": 0.6, "linewidths": 0}
        ax.scatter(group.cka, group.stability, label=kind, **style)
    ax.axhline(rows.shuffled.mean(), color="0.4", linewidth=0.8, linestyle="--")
    ax.set(xlabel="CKA between base and transformed base", ylabel="feature split (dashed: features shuffled)")
    ax.set(ylim=(None, 1.55), yticks=[-0.5, 0, 0.5, 1])
    ax.legend(frameon=False, fontsize="x-small", ncols=2, loc="upper left", markerscale=1.6)


def _draw_kinds(ax: Any, rows: pd.DataFrame) -> None:
    places = np.arange(len(KINDS))[::-1]
    scores = (("stability", "feature split", PALETTE[0], 0.17), ("averaged", "basis-averaged", PALETTE[1], -0.17))
    for name, label, colour, shift in scores:
        rhos = [score_correlation(rows[rows.kind == kind], name, n_draws=10).fact for kind in KINDS]
        ax.hlines(places + shift, [rho.low for rho in rhos], [rho.high for rho in rhos], color=colour)
        ax.plot([rho.value for rho in rhos], places + shift, "o", markersize=5, color=colour, label=label)
    ax.axvline(0, color="0.6", linewidth=0.8)
    ax.set_yticks(places, KINDS)
    ax.set(xlabel="rank correlation with CKA (bases resampled)", xlim=(-1, 1.05), ylim=(-0.6, len(KINDS) + 0.3))
    ax.legend(frameon=False, fontsize="x-small", ncols=2, loc="upper center")
