"""Does calibration agree with the analytical correction for bias?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from shesha.calibration import calibrate
from shesha.measures import sampled_cka, unbiased_cka
from shesha_studies.framework.facts import Fact, absolute, group_means, largest, over_draws, resampled, smallest
from shesha_studies.framework.page import Page, Picture
from shesha_studies.framework.pictures import panels
from shesha_studies.framework.study_decorator import grid_of, study
from shesha_studies.synthetic_data import shared

RATIOS = (1 / 8, 1 / 4, 1 / 2, 1, 2, 4)
_CELL = ["strength", "n", "ratio"]

_grid = grid_of("strength", "n", "ratio", "seed")


@study(
    "analytical-debiasing",
    paper="Null calibration, comparison with analytical debiasing",
    version=2,
    full=[
        *_grid((0.0, 0.5, 1.0), (256,), RATIOS, range(10)),
        # The published number of rows.
        *_grid((0.0, 1.0), (1024,), RATIOS, range(3)),
    ],
    quick={"strength": [0.0, 1.0], "n": [256], "ratio": RATIOS, "seed": range(5)},
    published="analytical-debiasing.csv",
)
def analytical_debiasing(strength: float, n: int, ratio: float, seed: int) -> dict[str, float]:
    """Does calibration by permutation agree with the unbiased estimator, which was derived for CKA?

    The data have n rows, ratio x n features with unit noise, and a shared signal of rank 5 and the given strength.
    There are 200 permutations.
    """
    rng = np.random.default_rng([seed, n, round(1000 * ratio), round(10 * strength)])
    X, Y = shared(strength, max(12, round(ratio * n)), n, 5, rng)
    result = calibrate(X, Y, "CKA", n_permutations=200, seed=seed)
    return {
        "raw": result.observed,
        "gated": result.score,
        "adjusted": result.adjusted,
        "unbiased": float(unbiased_cka(X, Y)),
        "over_columns": float(sampled_cka(X, Y)),
    }


@analytical_debiasing.page
def page(rows: pd.DataFrame, published: pd.DataFrame) -> Page:
    """Draw the differences of both corrections from the unbiased estimator, and the estimator of all columns."""
    rows = rows.assign(adjusted_off=rows.adjusted - rows.unbiased, gated_off=rows.gated - rows.unbiased)
    columns = ["raw", "unbiased", "adjusted", "gated", "over_columns", "adjusted_off", "gated_off"]
    table = rows.groupby(_CELL)[columns].mean().reset_index()
    titles = {
        "adjusted_off": "adjusted less unbiased",
        "gated_off": "gated less unbiased",
        "over_columns": "corrected for columns too",
    }
    n = rows.n.max()
    label = f"features per row, d / n (n = {n})"
    fig, axes = panels(rows[rows.n == n], "ratio", "strength", titles, label=label, sharey=False)
    span = np.abs(table[["adjusted_off", "gated_off"]].to_numpy()).max() * 1.3
    for ax in axes[:2]:
        ax.set(ylabel="difference of CKA", ylim=(-span, span))
    axes[2].set(ylabel="CKA (gaps: no value)", ylim=(-0.1, 1.15))
    axes[0].legend(frameon=False, fontsize="small", title="strength")
    shows = "Chance-adjusted and gated CKA minus unbiased CKA; the estimator that also corrects for columns"
    return Page("", (("Means", table),), (Picture("analytical_debiasing", fig, shows),))


@analytical_debiasing.facts
def facts(rows: pd.DataFrame, published: pd.DataFrame | None) -> dict[str, Any]:
    """Return the largest mean differences of calibrated and of raw CKA from unbiased CKA."""
    means = rows.groupby(_CELL)[["raw", "unbiased", "adjusted", "gated"]].mean()
    off = means.sub(means.unbiased, axis=0)
    noise, signal = rows[rows.strength == 0], rows[rows.strength > 0]
    related = signal[signal.n == rows.n.max()]
    others = related.groupby("ratio")[["unbiased", "gated"]].mean()
    # The paper does not print its signal, so the advantage at each of our widths is a possible value.
    ahead = related.assign(more=related.over_columns - related[["unbiased", "gated"]].max(axis=1))
    more = sorted(group_means(ahead, ["ratio"], "more"), key=lambda fact: fact.value)
    return {
        "n": rows.n.max(),
        # Use every n, because raw CKA needs no correction for our signal at the published n.
        "apart, signal": _largest_difference(signal, "gated"),
        "apart, noise": _largest_difference(noise, "gated"),
        "raw apart, signal": _largest_difference(signal, "raw"),
        "raw apart, noise": _largest_difference(noise, "raw"),
        "adjusted_apart": off.adjusted.abs().max(),
        "gated_lower": -off.gated.min(),
        "bias": off.raw.abs().max(),
        "over_columns": smallest(group_means(related, ["ratio"], "over_columns")),
        "others_lowest": others.min(axis=None),
        "others_highest": others.max(axis=None),
        "over_columns_more": Fact(more[0].value, more[0].low, max(fact.high for fact in more)),
        "over_columns_least": more[0].value,
        "over_columns_most": more[-1].value,
        "spread": noise.over_columns.std(),
        "spread_unbiased": noise.unbiased.std(),
        "over_columns_null": over_draws(noise.over_columns),
        "spread_ratio": resampled(
            lambda places: float(noise.over_columns.iloc[places].std() / noise.unbiased.iloc[places].std()), len(noise)
        ),
        "no_value": noise.over_columns.isna().mean(),
        "noise_draws": len(noise),
    }


def _largest_difference(rows: pd.DataFrame, name: str) -> Fact:
    """Largest mean difference from the unbiased estimator, at any width and strength."""
    rows = rows.assign(difference=rows[name] - rows.unbiased)
    return largest(map(absolute, group_means(rows, _CELL, "difference")))
