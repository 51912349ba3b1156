"""Is stability different from similarity?"""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from shesha.measures import cka, unbiased_cka
from shesha.stability import feature_split
from shesha.support.types import Matrix
from shesha_studies.framework.checks import Found
from shesha_studies.framework.facts import Facts, as_facts, over_draws, rank_correlation, rank_correlations
from shesha_studies.framework.page import Page
from shesha_studies.framework.published_checks import draws
from shesha_studies.framework.study_decorator import study
from shesha_studies.synthetic_data import D, N, mixture

QUADRANTS = ("stable, similar", "stable, not similar", "neither", "similar, not stable")
ANY = "any level"
"""Control in which pairs of independent representations have the same random level."""
KINDS = (*QUADRANTS, ANY)


@study(
    "quadrants",
    paper="Geometric Stability, 7.1.4",
    version=1,
    full={"quadrant": KINDS, "pair": range(15), "seed": range(8)},
    quick={"quadrant": KINDS, "pair": range(15), "seed": range(3)},
    published="quadrants.csv",
)
def quadrants(quadrant: str, pair: int, seed: int) -> dict[str, float]:
    """Can a representation be stable and dissimilar to another, or unstable and similar to it?

    There are sixty pairs of 200 x 256, fifteen of each kind, and fifteen pairs with random levels. The numbers are the
    stability of the first representation and the CKA of both.
    """
    X, Y = _pair(quadrant, np.random.default_rng([seed, pair, KINDS.index(quadrant)]))
    return {
        "shesha": feature_split(X, n_splits=50, metric="correlation", seed=320),
        "unbiased_cka": float(unbiased_cka(X, Y)),
        "cka": float(cka(X, Y)),
    }


def _pair(quadrant: str, rng: np.random.Generator) -> tuple[Matrix, Matrix]:
    if quadrant == "stable, similar":
        X = mixture(0.9, rng)
        return X, X + 0.1 * rng.standard_normal((N, D))
    if quadrant == "similar, not stable":
        X = rng.standard_normal((N, D))
        return X, X + 0.15 * rng.standard_normal((N, D))
    share = rng.random() if quadrant == ANY else 0.9 if quadrant == "stable, not similar" else 0.1
    return mixture(share, rng), mixture(share, rng)


@quadrants.page
def page(rows: pd.DataFrame, published: pd.DataFrame | None) -> Page:
    """Return our answers to the published lines."""
    return Page(answers=published_numbers(rows))


def published_numbers(rows: pd.DataFrame) -> dict[str, Found]:
    """Return means of the quadrants, and the correlation over all pairs."""
    # A published mean is over fifteen pairs, but its printed error is that of a single pair.
    means = {
        f"{name}/{quadrant}": draws(group[name])
        for quadrant, group in rows.groupby("quadrant")
        for name in ("shesha", "unbiased_cka")
    }
    rhos = rank_correlations(rows[rows.quadrant != ANY], "shesha", "unbiased_cka")
    return {**means, "rho": draws(pd.Series(rhos))}


@quadrants.facts
def facts(rows: pd.DataFrame, published: pd.DataFrame | None) -> Facts:
    """Return the correlation over quadrants, within quadrants, and for random levels."""
    balanced, free = rows[rows.quadrant != ANY], rows[rows.quadrant == ANY]
    rhos = rank_correlations(balanced, "shesha", "unbiased_cka")
    within = [rank_correlations(part, "shesha", "unbiased_cka") for _, part in balanced.groupby("quadrant")]
    adversarial = rows[rows.quadrant == QUADRANTS[3]]
    accepted = (adversarial.shesha < 0.4) & (adversarial.unbiased_cka > 0.4)
    return as_facts(
        {
            "kinds": balanced.quadrant.nunique(),
            "draws": len(rhos),
            "rho": over_draws(rhos),
            "rho_sd": rhos.std(),
            "within": over_draws(np.mean(within, axis=0)),
            "adversarial_pairs": len(adversarial),
            "accepted": accepted.sum(),
            "not_accepted": (~accepted).sum(),
            "adversarial_cka": adversarial.unbiased_cka.mean(),
            "adversarial_cka_lowest": adversarial.unbiased_cka.min(),
            "adversarial_split": adversarial.shesha.mean(),
            "adversarial_split_most": adversarial.shesha.abs().max(),
            "gap": _smallest_gap(balanced),
            "naive": rank_correlation(spearmanr(free.shesha, free.unbiased_cka).statistic, len(free)),
            "naive_biased": spearmanr(free.shesha, free.cka).statistic,
            "naive_pairs": len(free),
        }
    )


def _smallest_gap(rows: pd.DataFrame) -> float:
    """Smallest gap between the boxes of two quadrants, along the axis with the largest gap."""
    scores = rows.groupby("quadrant")[["shesha", "unbiased_cka"]]
    low, high = scores.min().to_numpy(), scores.max().to_numpy()
    pairs = permutations(range(len(low)), 2)
    return float(min(max(np.maximum(low[a] - high[b], low[b] - high[a])) for a, b in pairs))
