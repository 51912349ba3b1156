"""Does stability recover a known share of signal?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from shesha.measures import cka, unbiased_cka
from shesha.stability import feature_split
from shesha.studies.checks import INCONCLUSIVE, Found
from shesha.studies.facts import Fact, Facts, as_facts, over_draws, rank_correlations, smallest
from shesha.studies.facts import steps as level_steps
from shesha.studies.page import Page, Picture
from shesha.studies.pictures import figure, lines
from shesha.studies.published_checks import draws
from shesha.studies.study_decorator import grid_of, study
from shesha.studies.tolerance import correlation_p
from shesha_studies.synthetic_data import D, N, mixture

LEVELS = [level / 20 for level in range(21)]
FORMULAS = ("unit variance", "as printed")
_HIGHEST_PUBLISHED = 0.997
"""The highest of the published correlations, beside which the p-value is printed."""


_grid = grid_of("level", "seed", "formula")


@study(
    "ground-truth",
    paper="Geometric Stability, 7.1.1 and 7.1.2",
    version=1,
    full=[*_grid(LEVELS, range(20), FORMULAS[:1]), *_grid(LEVELS, range(5), FORMULAS[1:])],
    quick=_grid(LEVELS, range(5), FORMULAS[:1]),
    published="ground_truth.csv",
)
def ground_truth(level: float, seed: int, formula: str = "unit variance") -> dict[str, float]:
    """Does the feature split follow the share of signal in a representation?

    The data have 200 rows and 256 features. They are a mixture of a signal with 50 factors and isotropic noise. Entries
    of the signal have unit variance, or the signal has unit Frobenius norm as printed. CKA and unbiased CKA of
    independent noise of the same size are also computed.
    """
    rng = np.random.default_rng([seed, round(100 * level)])
    X = mixture(level, rng) if formula == "unit variance" else _as_printed(level, rng)
    noise, other = np.random.default_rng([seed, round(100 * level), 1]).standard_normal((2, N, D))
    return {
        "shesha": feature_split(X, n_splits=50, metric="correlation", seed=320),
        "noise_cka": float(cka(noise, other)),
        "noise_unbiased_cka": float(unbiased_cka(noise, other)),
    }


def _as_printed(share: float, rng: np.random.Generator) -> np.ndarray:
    signal = rng.standard_normal((N, 50)) @ rng.standard_normal((50, D))
    return np.asarray(share * signal / np.linalg.norm(signal) + (1 - share) * rng.standard_normal((N, D)))


@ground_truth.page
def page(rows: pd.DataFrame, published: pd.DataFrame | None) -> Page:
    """Correlate score and share of signal within each draw of all levels."""
    subset = rows[rows.formula == FORMULAS[0]]
    rhos = rank_correlations(subset, "level", "shesha")
    levels = subset.groupby("level").shesha.agg(["mean", "std"]).reset_index()
    fig, (ax,) = figure()
    lines(ax, rows.rename(columns={"formula": "signal"}), "level", "shesha", "signal")
    ax.set(xlabel="share of signal", ylabel="feature split")
    ax.legend(frameon=False, fontsize="small", title="signal scaled to")
    picture = Picture(
        "ground_truth", fig, "Feature split against the share of signal: mean and standard deviation of the draws"
    )
    return Page("", (("Scores", levels),), (picture,), answers=published_numbers(rows, rhos))


def published_numbers(rows: pd.DataFrame, rhos: np.ndarray) -> dict[str, Found]:
    """Return the correlation over levels, and the score of noise alone."""
    subset = rows[rows.formula == FORMULAS[0]]
    level, noise = subset[subset.level == 0], subset.shesha[subset.level == 0]
    return {
        "rho": draws(pd.Series(rhos)),
        "p": Found(
            correlation_p(_HIGHEST_PUBLISHED, len(LEVELS)),
            why="With 21 levels, p is 1e-17 for a correlation of 0.99 and 1e-22 for 0.997. A p of 1e-86 needs about "
            "105 points at 0.99, which is five times the number of levels.",
        ),
        "biased": Found(
            float(rows.noise_cka.mean()),
            verdict=INCONCLUSIVE,
            why="The paper prints no size for this number. The expected biased linear CKA of independent noise is "
            "about d / (n + d), which is 0.56 for n = 200 and d = 256, the sizes of the next sentence. A value of 0.4 "
            "needs about 0.67 features per row.",
        ),
        "unbiased": draws(level.noise_unbiased_cka),
        "noise": draws(noise),
    }


@ground_truth.facts
def facts(rows: pd.DataFrame, published: pd.DataFrame | None) -> Facts:
    """Return the correlation of score and share over draws, and how often the mean decreases between levels."""
    subset = rows[rows.formula == FORMULAS[0]]
    printed = rows[rows.formula == FORMULAS[1]]
    means = subset.groupby("level").shesha.mean()
    steps, rhos = means.diff().dropna(), rank_correlations(subset, "level", "shesha")
    values: dict[str, Any] = {
        "rho_sd": rhos.std(),
        "rho_lowest": rhos.min(),
        "rho_highest": rhos.max(),
        "draws": len(rhos),
    }
    values |= {"score of 09": means.iloc[18], "score of 1": means.iloc[20]}
    if len(printed):
        values["rho_printed"] = over_draws(rank_correlations(printed, "level", "shesha"))
        values["draws_printed"] = printed.seed.nunique()
    return as_facts(values) | {
        "rho": over_draws(rank_correlations(subset, "level", "shesha")),
        "backwards": Fact(float((steps < 0).sum())),
        "smallest_step": smallest(level_steps(subset, "level", "shesha")),
        "faint": Fact(float(subset[subset.level <= 0.2].shesha.abs().mean())),
    }
