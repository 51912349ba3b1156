"""Which kind of calibrated score stays at zero for unrelated data?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from shesha.calibration import calibrate
from shesha.measures import sampled_cka, unbiased_cka
from shesha.nulls.null_summary import summarise
from shesha.support.types import Index, Matrix
from shesha_studies.framework.facts import Fact, absolute, group_means, largest, over_draws, resampled
from shesha_studies.framework.page import Page
from shesha_studies.framework.published_checks import draws
from shesha_studies.framework.study_decorator import grid_of, study
from shesha_studies.measures_of_stored_rows import measure_of_stored_rows
from shesha_studies.synthetic_data import shared

N = 128
MEASURES = ("CKA", "CKA(kernel=rbf)", "CCA", "RSA", "mutual kNN")
RATIOS = (1 / 8, 1 / 4, 1 / 2, 1, 2, 4)
VARIANTS = {"gated_05": "gated", "centred": "less the mean", "adjusted": "adjusted", "z": "z"}
SCALED = ["gated_05", "gated_10", "centred", "adjusted"]

_grid = grid_of("measure", "strength", "ratio", "seed")


@study(
    "calibration-variants",
    paper="Null calibration, comparing calibration approaches; existing approaches",
    version=1,
    # For d >= n - 1, all canonical correlations are 1.
    full=[
        cell
        for cell in (*_grid(MEASURES, [0.0], RATIOS, range(40)), *_grid(MEASURES, [1.0], RATIOS, range(8)))
        if cell["measure"] != "CCA" or cell["ratio"] < 1
    ],
    quick=[
        *_grid(["CKA", "mutual kNN"], [0.0], RATIOS, range(8)),
        *_grid(["CKA", "mutual kNN"], [1.0], RATIOS, range(4)),
    ],
    published="calibration-variants.csv",
)
def calibration_variants(measure: str, strength: float, ratio: float, seed: int) -> dict[str, float]:
    """Which of the gated, centred, z and chance-adjusted scores stay at zero for unrelated data?

    The data have 128 rows and ratio times as many features with unit noise. Strength 0 means unrelated data; strength 1
    adds a shared signal of rank 5 and unit variance. There are 200 permutations.
    """
    rng = np.random.default_rng([seed, round(1000 * ratio), round(10 * strength)])
    X, Y = shared(strength, round(ratio * N), N, 5, rng)
    calibrated = calibrate(X, Y, measure_of_stored_rows(measure), n_permutations=200, seed=seed)
    null = np.array(calibrated.null)
    loose = summarise(calibrated.value, null, calibrated.closer, 0.1, calibrated.best)
    return {
        "raw": calibrated.value,
        "gated_05": calibrated.calibrated,
        "gated_10": loose.calibrated,
        "centred": calibrated.centred,
        "z": calibrated.z,
        "adjusted": calibrated.adjusted,
        "p_value": calibrated.p_value,
        "skewness": float((((null - null.mean()) / null.std()) ** 3).mean()),
    }


@calibration_variants.page
def page(rows: pd.DataFrame, published: pd.DataFrame) -> Page:
    """Return our answers to the published lines."""
    widest = rows[(rows.strength == 0) & (rows.measure == "CKA") & (rows.ratio == rows.ratio.max())]
    answers = {"raw_cka": draws(widest.raw, decimals=1)}
    return Page(answers=answers)


def _means(rows: pd.DataFrame) -> pd.DataFrame:
    grouped = rows.assign(hit=rows.p_value <= 0.05).groupby(["measure", "strength", "ratio"], sort=False)
    return grouped[["raw", *SCALED, "z", "skewness", "hit"]].mean().assign(z_sd=grouped.z.std()).reset_index()


@calibration_variants.facts
def facts(rows: pd.DataFrame, published: pd.DataFrame | None) -> dict[str, Any]:
    """Return the scores of each kind for unrelated and for related data."""
    unrelated, means = rows[rows.strength == 0], _means(rows)
    none, cka = means[means.strength == 0], unrelated[unrelated.measure == "CKA"]
    narrow, wide = (cka[cka.ratio == end] for end in (cka.ratio.min(), cka.ratio.max()))
    signal = means[(means.strength > 0) & (means.measure == "CKA")].sort_values("ratio")
    z = wide.z.to_numpy()
    return {
        "largest": none[SCALED].abs().max(axis=None),
        "gated": _largest_mean(unrelated, "gated_05", "gated_10"),
        **{name: _largest_mean(unrelated, name) for name in ("centred", "adjusted")},
        **{f"{name}_{end}": none[name].agg(end) for name in ("z", "z_sd") for end in ("min", "max")},
        # The standard deviation of z over draws, which are resampled.
        "z_sd": resampled(lambda places: float(z[places].std(ddof=1)), len(z)),
        "ratio": wide.ratio.max(),
        "narrow ratio": narrow.ratio.max(),
        "z": over_draws(wide.z),
        "draws": len(wide),
        "skewness": _largest_skewness(unrelated[unrelated.ratio == wide.ratio.max()]),
        "skewness of narrow": _largest_skewness(unrelated[unrelated.ratio == narrow.ratio.max()]),
        **{f"signal {name}, narrow": signal[name].iloc[0] for name in ("z", "adjusted")},
        **{f"signal {name}, wide": signal[name].iloc[-1] for name in ("z", "adjusted")},
        "raw RSA": _largest_mean(unrelated[unrelated.measure == "RSA"], "raw"),
        "raw mutual kNN": _largest_mean(unrelated[unrelated.measure == "mutual kNN"], "raw"),
        **_approaches(),
    }


def _largest_mean(rows: pd.DataFrame, *columns: str) -> Fact:
    """Largest absolute mean of a measure at a width."""
    means = (mean for name in columns for mean in group_means(rows, ["measure", "ratio"], name))
    return largest(map(absolute, means))


def _largest_skewness(rows: pd.DataFrame) -> Fact:
    """Largest mean skewness of the null of linear and RBF CKA."""
    return largest(group_means(rows[rows.measure.isin(MEASURES[:2])], ["measure"], "skewness"))


def _share_of_bias_left(scores: Matrix) -> Callable[[Index], float]:
    """Bias of the first column as a share of the bias of the second, for resampled rows; the true value is 1."""

    def share(places: Index) -> float:
        corrected, plain = np.abs(scores[places].mean(axis=0) - 1)
        return float(corrected / plain)

    return share


def _approaches() -> dict[str, Any]:
    """Apply corrections for numbers of rows and columns to noise, and to a signal whose similarity is 1."""
    rng = np.random.default_rng(0)
    noise = np.array([unbiased_cka(a, b) for a, b in zip(*rng.standard_normal((2, 200, 40, 80)), strict=True)])
    rng = np.random.default_rng(1)
    # The population similarity is 1. Rows are n = 40, and features a sample of 20 or 80.
    few, many = (
        np.array([[score(X, Y) for score in (sampled_cka, unbiased_cka)] for X, Y in pairs])
        for pairs in ([shared(1.0, d, 40, 5, rng) for _ in range(60)] for d in (20, 80))
    )
    return {
        "unbiased": over_draws(noise),
        "unbiased_lowest": noise.min(),
        "over_columns": over_draws(many[:, 0]),
        "over_columns_few": over_draws(few[:, 0]),
        "rows_only": over_draws(many[:, 1]),
        "rows_only_few": over_draws(few[:, 1]),
        "bias_left": largest(resampled(_share_of_bias_left(scores), len(scores)) for scores in (few, many)),
        "over_columns_highest": few[:, 0].max(),
    }
