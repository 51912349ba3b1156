"""The page on perturbations: our values of the published numbers, tables and the picture."""

from __future__ import annotations

from math import sqrt
from typing import Any

import pandas as pd

from shesha.charts import PALETTE
from shesha_studies.biology._crispr_rows import GAUSSIAN, Results
from shesha_studies.framework.checks import INCONCLUSIVE, RECIPE, STAND_IN, UNREACHABLE, Found
from shesha_studies.framework.page import Page, Picture
from shesha_studies.framework.pictures import figure, logarithmic
from shesha_studies.framework.tolerance import correlation_error
from shesha_studies.printed_p_values import printed_p_values


def make_page(rows: pd.DataFrame, published: pd.DataFrame) -> Page:
    """Compare the screen with Tables 59 to 74, and with groups without an effect."""
    results = Results(rows)
    shows = "Scores of control groups against group size; scores of targets against magnitude"
    picture = Picture("crispr", _draw(results), shows)
    return Page(
        tables=_tables(results), pictures=(picture,), answers=published_numbers(results) | printed_p_values(published)
    )


def published_numbers(results: Results) -> dict[str, Found]:
    """Return our values of the published numbers that our data or a simulation can give."""
    groups, simulated = results.build("group"), results.build("null model", GAUSSIAN)
    counts = {"n_groups": len(groups), "n_cells": groups.n.sum(), "null_n": 2000.0}
    counts |= {f"{how}_n": groups.n.agg(how) for how in ("median", "min", "max")}
    counts["n_controls"] = results.get("n_controls", "counts", "cells")
    counts["n_control_guides"] = results.get("n_guides", "counts", "cells")
    # Without the paper's effects and numbers of cells, the sign of two correlations is open.
    is_open = {"partial": True, "snr": False}
    is_open["magnitude"] = simulated.magnitude_rho.min() < 0 < simulated.magnitude_rho.max()
    gaussian = {
        f"null_{key}": Found(
            results.get(f"{key}_rho", "null model", "effect 0.3, 100 cells", GAUSSIAN),
            basis=RECIPE,
            verdict=INCONCLUSIVE if is_open[key] else None,
        )
        for key in is_open
    }
    found = {key: Found(float(value)) for key, value in counts.items()} | gaussian
    return found | _correlations(results, len(groups)) | _numbers_of_genes(results, groups)


def _correlations(results: Results, n: int) -> dict[str, Found]:
    """Correlations over the targets; another sample of targets has the same error, unless an interval is printed."""
    rhos = {method: results.get("coherence_rho", "method", method) for method in ("whitened", "knn")}
    size = results.get("rho", "confound", "coherence and n")
    return {
        "rho": Found(results.get("coherence_rho", "method", "standard")),
        **{f"rho_{method}": Found(rho, error=correlation_error(rho, n)) for method, rho in rhos.items()},
        "rho_n": Found(size, error=sqrt(2) * correlation_error(size, n)),
        **dict.fromkeys(("partial", "partial_p"), Found("not estimable", verdict=INCONCLUSIVE)),
    }


def _numbers_of_genes(results: Results, groups: pd.DataFrame) -> dict[str, Found]:
    """Numbers whose size depends on the genes, of which we do not have all."""
    rho = results.get("rho", "confound", "coherence and spread")
    ours = {"rho_spread": rho} if rho == rho else {}
    for name, column in (("stability", "coherence"), ("magnitude", "magnitude")):
        summary = groups[column].agg(mean="mean", sd="std", min="min", max="max")
        ours |= {f"{name}_{how}": float(value) for how, value in summary.items()}
    return {key: Found(value, verdict=UNREACHABLE, basis=STAND_IN) for key, value in ours.items()}


def _tables(results: Results) -> tuple[tuple[str, pd.DataFrame], ...]:
    groups = results.build("group").sort_values("unbiased", ascending=False)
    scores = ["n", "coherence", "chance", "p_adj", "unbiased", "unbiased_ci_low", "unbiased_ci_high", "magnitude"]
    sizes = ["coherence", "low", "high", "expected", "unbiased", "magnitude"]
    links = [f"{score}_{name}" for score in ("coherence", "unbiased") for name in ("rho", "low", "high", "chance", "p")]
    scores += ["guides_low", "guides_high"]
    return (
        ("Targets, with intervals of the pairwise score over cells and over guides", groups[scores].reset_index()),
        ("Groups of control cells, by number of cells", results.build("size")[sizes].reset_index()),
        ("Correlation of magnitude and score by three methods", results.build("method")[links].reset_index()),
    )


def _draw(results: Results) -> Any:
    drawn, (left, right) = figure(2, width=4.4, height=3.7)
    sizes, groups = results.build("size"), results.build("group")
    n = sizes.index.astype(float).to_numpy()
    spread = [sizes.coherence - sizes.low, sizes.high - sizes.coherence]
    left.errorbar(n, sizes.coherence, yerr=spread, fmt="o-", color=PALETTE[0], capsize=3, label="mean cosine, 95 %")
    left.plot(n, sizes.expected, ":", color="black", zorder=5, label="isotropic noise, closed form")
    left.plot(n, sizes.unbiased, "s-", color=PALETTE[1], label="pairwise")
    left.axhline(0, color="0.7", linewidth=0.8)
    left.set(xlabel="control cells in a group", title="Control cells (no effect)")
    logarithmic(left, n)
    right.plot(groups.magnitude_chance, groups.chance, "kx", markersize=4, zorder=3, label="mean cosine of null groups")
    right.plot(groups.magnitude, groups.coherence, "o", color=PALETTE[0], label="mean cosine of targets")
    right.plot(groups.magnitude, groups.unbiased, "s", color=PALETTE[1], markersize=4, label="pairwise")
    right.set(xlabel="magnitude", title="25 targets")
    logarithmic(right, (0.2, 0.5, 1, 2))
    for ax in (left, right):
        ax.set_ylabel("score")
        ax.legend(frameon=False, fontsize="small")
    return drawn
