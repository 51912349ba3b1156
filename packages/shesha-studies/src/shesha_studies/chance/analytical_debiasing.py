"""Does calibration agree with the analytical correction for bias?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from shesha.calibration import calibrate
from shesha.measures import sampled_cka, unbiased_cka
from shesha_studies.framework.facts import Fact, absolute, group_means, largest, over_draws, resampled, smallest
from shesha_studies.framework.page import Page
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
        "raw": result.value,
        "gated": result.calibrated,
        "adjusted": result.adjusted,
        "unbiased": float(unbiased_cka(X, Y)),
        "over_columns": float(sampled_cka(X, Y)),
    }


@analytical_debiasing.page
def page(rows: pd.DataFrame, published: pd.DataFrame) -> Page:
    """Return a page without tables, because rules judge all lines."""
    return Page()


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
