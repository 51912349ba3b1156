"""Which kind of calibrated score stays at zero for unrelated data?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from shesha.calibration import calibrate
from shesha.measures import sampled_cka, unbiased_cka
from shesha.nulls.null_summary import summarise
from shesha.studies.checks import Found
from shesha.studies.facts import Fact, Facts, absolute, as_facts, group_means, largest, over_draws, resampled
from shesha.studies.page import Page, Picture
from shesha.studies.pictures import grid, lines, logarithmic
from shesha.studies.published_checks import draws
from shesha.studies.study_decorator import grid_of, study
from shesha_studies.synthetic_data import shared

N = 128
MEASURES = ("CKA", "CKA(kernel=rbf)", "CCA", "RSA", "mutual kNN")
RATIOS = (1 / 8, 1 / 4, 1 / 2, 1, 2, 4)
VARIANTS = {
    "gated_05": "gated",
    "centred": "less the mean",
    "adjusted": "adjusted",
    "z": "z",
}
SCALED = ("gated_05", "gated_10", "centred", "adjusted")
_GATED = ("gated_05", "gated_10")


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
    calibrated = calibrate(X, Y, measure, n_permutations=200, seed=seed)
    null = np.array(calibrated.null)
    loose = summarise(calibrated.observed, null, calibrated.closer, 0.1, calibrated.maximum)
    return {
        "raw": calibrated.observed,
        "gated_05": calibrated.score,
        "gated_10": loose.score,
        "centred": calibrated.centred,
        "z": calibrated.z,
        "adjusted": calibrated.adjusted,
        "p_value": calibrated.p_value,
        "skewness": float((((null - null.mean()) / null.std()) ** 3).mean()),
    }


@calibration_variants.page
def page(rows: pd.DataFrame, published: pd.DataFrame) -> Page:
    """Draw each summary of unrelated and of related data against the width."""
    table = _table(rows)
    fig, axes = grid(2, len(VARIANTS), width=2.7, height=2.3)
    for line, strength in enumerate(sorted(rows.strength.unique())):
        group = rows[rows.strength == strength]
        for column, (name, title) in enumerate(VARIANTS.items()):
            lines(axes[line][column], group, "ratio", name, "measure")
            axes[line][column].set(title=f"{title}, {'related' if strength else 'unrelated'}", xlabel="d / n")
            logarithmic(axes[line][column], rows.ratio)
    axes[0][0].legend(frameon=False, fontsize="xx-small")
    picture = Picture(
        "calibration_variants",
        fig,
        "Gated, centred, chance-adjusted and z-scores against d / n, for unrelated and related data",
    )
    return Page("", (("Means", table),), (picture,), answers=published_numbers(rows))


def _skewness(unrelated: pd.DataFrame, ratio: float) -> Fact:
    """Largest mean skewness of the null of linear and RBF CKA."""
    kernels = unrelated[unrelated.measure.isin(MEASURES[:2]) & (unrelated.ratio == ratio)]
    return largest(group_means(kernels, ["measure"], "skewness"))


def _spread_of_z(unrelated: pd.DataFrame) -> Fact:
    """Standard deviation of z of the widest data by CKA; draws are resampled."""
    z = unrelated[(unrelated.measure == "CKA") & (unrelated.ratio == unrelated.ratio.max())].z.to_numpy()
    return resampled(lambda places: float(z[places].std(ddof=1)), len(z))


def _largest_mean(rows: pd.DataFrame, columns: Sequence[str]) -> Fact:
    """Largest absolute mean of a measure at a width."""
    means = [mean for name in columns for mean in group_means(rows, ["measure", "ratio"], name)]
    return largest(map(absolute, means))


def _table(rows: pd.DataFrame) -> pd.DataFrame:
    columns = ["raw", *SCALED, "z", "skewness"]
    grouped = rows.assign(hit=rows.p_value <= 0.05).groupby(["measure", "strength", "ratio"], sort=False)
    table = grouped[[*columns, "hit"]].mean()
    table["z_sd"] = grouped.z.std()
    return table.reset_index()


def _noise_lines(table: pd.DataFrame, measure: str) -> pd.DataFrame:
    return table[(table.strength == 0) & (table.measure == measure)].sort_values("ratio")


def published_numbers(rows: pd.DataFrame) -> dict[str, Found]:
    """Return raw CKA of the widest unrelated data."""
    cka = rows[(rows.strength == 0) & (rows.measure == "CKA")]
    why = "The paper has another d / n; CKA of noise is d / (n + d)."
    return {"raw_cka": draws(cka[cka.ratio == cka.ratio.max()].raw, why, decimals=1)}


@calibration_variants.facts
def facts(rows: pd.DataFrame, published: pd.DataFrame | None) -> Facts:
    """Return the scores of each kind for unrelated and for related data."""
    table = _table(rows)
    none, cka, unrelated = table[table.strength == 0], _noise_lines(table, "CKA"), rows[rows.strength == 0]
    wide, narrow = cka.iloc[-1], cka.iloc[0]
    draws_of_cka = unrelated[unrelated.measure == "CKA"]
    wide_draws = draws_of_cka[draws_of_cka.ratio == wide.ratio]
    signal = table[(table.strength > 0) & (table.measure == "CKA")].sort_values("ratio")
    values = {
        "largest": none[list(SCALED)].abs().max(axis=None),
        "gated": _largest_mean(unrelated, _GATED),
        **{name: _largest_mean(unrelated, (name,)) for name in ("centred", "adjusted")},
        **{f"z_{end}": none.z.agg(end) for end in ("min", "max")},
        **{f"z_sd_{end}": none.z_sd.agg(end) for end in ("min", "max")},
        **{"z_sd": _spread_of_z(unrelated), "ratio": wide.ratio, "narrow ratio": narrow.ratio},
        **{"z": over_draws(wide_draws.z), "draws": len(wide_draws)},
        **{name: _skewness(unrelated, end.ratio) for name, end in (("skewness", wide), ("skewness of narrow", narrow))},
        **{f"signal z, {end}": signal.z.iloc[index] for end, index in (("narrow", 0), ("wide", -1))},
        **{f"signal adjusted, {end}": signal.adjusted.iloc[index] for end, index in (("narrow", 0), ("wide", -1))},
        **{
            f"raw {name}": _largest_mean(unrelated[unrelated.measure == name], ("raw",))
            for name in ("RSA", "mutual kNN")
        },
    }
    return as_facts(values | _approaches())


def _approaches() -> dict[str, Any]:
    """Apply corrections for numbers of rows and columns to noise, and to a signal whose similarity is 1."""
    rng = np.random.default_rng(0)
    noise = np.array([unbiased_cka(a, b) for a, b in zip(*rng.standard_normal((2, 200, 40, 80)), strict=True)])
    rng = np.random.default_rng(1)
    few, many = (np.array([sampled_cka(*shared(1.0, d, 40, 5, rng)) for _ in range(60)]) for d in (20, 80))
    return {
        **{"unbiased": over_draws(noise), "unbiased_lowest": noise.min()},
        **{
            "over_columns": over_draws(many),
            "over_columns_off": absolute(over_draws(many - 1)),
            "over_columns_highest": few.max(),
        },
    }
