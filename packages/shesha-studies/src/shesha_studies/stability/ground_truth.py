"""Does stability recover a known share of signal?"""

from __future__ import annotations

import numpy as np
import pandas as pd

from shesha.measures import cka, unbiased_cka
from shesha.stability import feature_split
from shesha_studies.framework.checks import INCONCLUSIVE, Found
from shesha_studies.framework.facts import Facts, as_facts, over_draws, rank_correlations, smallest, steps
from shesha_studies.framework.page import Page
from shesha_studies.framework.published_checks import draws
from shesha_studies.framework.study_decorator import grid_of, study
from shesha_studies.framework.tolerance import correlation_p
from shesha_studies.synthetic_data import D, N, mixture

LEVELS = [level / 20 for level in range(21)]
FORMULAS = ("unit variance", "as printed")
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
    X = mixture(level, rng, np.std if formula == "unit variance" else np.linalg.norm)
    noise, other = np.random.default_rng([seed, round(100 * level), 1]).standard_normal((2, N, D))
    return {
        "shesha": feature_split(X, n_splits=50, metric="correlation", seed=320),
        "noise_cka": float(cka(noise, other)),
        "noise_unbiased_cka": float(unbiased_cka(noise, other)),
    }


@ground_truth.page
def page(rows: pd.DataFrame, published: pd.DataFrame | None) -> Page:
    """Return our answers to the published lines."""
    subset = rows[rows.formula == FORMULAS[0]]
    noise = subset[subset.level == 0]
    answers = {
        "rho": draws(pd.Series(rank_correlations(subset, "level", "shesha"))),
        # The p-value is printed next to the highest of the published correlations.
        "p": Found(correlation_p(0.997, len(LEVELS))),
        "biased": Found(float(rows.noise_cka.mean()), verdict=INCONCLUSIVE),
        "unbiased": draws(noise.noise_unbiased_cka),
        "noise": draws(noise.shesha),
    }
    return Page(answers=answers)


@ground_truth.facts
def facts(rows: pd.DataFrame, published: pd.DataFrame | None) -> Facts:
    """Return the correlation of score and share over draws, and how often the mean decreases between levels."""
    subset, printed = (rows[rows.formula == formula] for formula in FORMULAS)
    means, rhos = subset.groupby("level").shesha.mean(), rank_correlations(subset, "level", "shesha")
    return as_facts(
        {
            "rho_sd": rhos.std(),
            "rho_lowest": rhos.min(),
            "rho_highest": rhos.max(),
            "draws": len(rhos),
            "score of 09": means.iloc[18],
            "score of 1": means.iloc[20],
            "rho_printed": over_draws(rank_correlations(printed, "level", "shesha")),
            "draws_printed": printed.seed.nunique(),
            "rho": over_draws(rhos),
            "backwards": (means.diff() < 0).sum(),
            "smallest_step": smallest(steps(subset, "level", "shesha")),
            "faint": subset[subset.level <= 0.2].shesha.abs().mean(),
        }
    )
