"""Do stability and similarity remain after the top principal components are removed?"""

from __future__ import annotations

import numpy as np
import pandas as pd

from shesha.measures import procrustes_similarity, pwcka, unbiased_cka
from shesha.stability import feature_split
from shesha.support.types import Matrix
from shesha_studies.framework.checks import Found
from shesha_studies.framework.facts import Facts, as_facts, largest, over_draws
from shesha_studies.framework.page import Page
from shesha_studies.framework.published_checks import draws
from shesha_studies.framework.study_decorator import study
from shesha_studies.synthetic_data import power_law, remove_top_components

TABLE = [*range(11), *range(15, 55, 5)]
REMOVED = sorted({*TABLE, *range(21, 35)})
NUMBERS = {"shesha": "feature split", "unbiased_cka": "unbiased CKA", "pwcka": "PWCKA", "procrustes": "Procrustes"}
SIMILARITIES = tuple(NUMBERS)[1:]


@study(
    "spectral",
    paper="Geometric Stability, 7.1.3, Table 11",
    version=1,
    full={"k": REMOVED, "seed": range(8)},
    quick={"k": TABLE, "seed": range(4)},
    published="spectral.csv",
)
def spectral(k: int, seed: int) -> dict[str, float]:
    """Does stability remain after the leading principal components are removed, while similarity to the whole does not?

    The data have 200 rows, 256 features and the singular values 100, 50, 33, ... The remaining components are compared
    with the complete data.
    """
    X = power_law(np.random.default_rng(seed))
    remainder = remove_top_components(X, k)
    return {
        "shesha": feature_split(remainder, n_splits=50, metric="correlation", seed=320),
        "unbiased_cka": float(unbiased_cka(X, remainder)),
        "pwcka": float(pwcka(X, remainder)),
        "procrustes": float(procrustes_similarity(X, remainder)) ** 2,
        "halves_cka": _halves_cka(remainder),
    }


def _halves_cka(X: Matrix) -> float:
    """Unbiased CKA of two random halves of the features of the remaining components."""
    rng = np.random.default_rng(0)
    orders = (rng.permutation(X.shape[1]) for _ in range(5))
    half = X.shape[1] // 2
    return float(np.mean([unbiased_cka(X[:, order[:half]], X[:, order[half:]]) for order in orders]))


@spectral.page
def page(rows: pd.DataFrame, published: pd.DataFrame | None) -> Page:
    """Return our answers to the published lines."""
    return Page(answers=published_numbers(rows))


def _first_below(scores: pd.Series[float], level: float) -> int:
    """Return the smallest number of removed components at which a score is below a level."""
    return int(scores.index[scores < level][0])


def published_numbers(rows: pd.DataFrame) -> dict[str, Found]:
    """Return our value for every number of Table 11, and where scores first fall below a level."""
    table = rows[rows.k.isin(TABLE)]
    means = table.groupby("k")[list(NUMBERS)].mean()
    values = {f"{name}/{k}": draws(table.loc[table.k == k, name]) for name in NUMBERS for k in TABLE}
    values |= {f"below/{name}": Found(_first_below(means[name], 0.5)) for name in SIMILARITIES}
    levels = {"below/shesha": (table, 0.5)}
    # The paper states the level of 0.4 for every k, and the quick grid has only those of Table 11.
    if set(REMOVED) <= set(rows.k):
        levels["below 0.4/shesha"] = (rows, 0.4)
    for key, (some, level) in levels.items():
        in_draws = [_first_below(group.set_index("k").shesha, level) for _, group in some.groupby("seed")]
        note = f"In the {len(in_draws)} draws it is {min(in_draws)} to {max(in_draws)}."
        ours = _first_below(some.groupby("k").shesha.mean(), level)
        values[key] = Found(ours, float(np.std(in_draws, ddof=1)), note=note)
    return values


@spectral.facts
def facts(rows: pd.DataFrame, published: pd.DataFrame | None) -> Facts:
    """Return how much more of the split remains than of similarities with the whole and between halves."""
    means = rows.groupby("k")[["shesha", "unbiased_cka", "halves_cka"]].mean()
    first, ten, thirty = (rows[rows.k == k] for k in (1, 10, 30))
    return as_facts(
        {
            **{f"first below half, {name}": _first_below(means[name], 0.5) for name in ("shesha", "unbiased_cka")},
            **{f"split at {k}": means.shesha[k] for k in (1, 20)},
            **{f"halves at {k}": means.halves_cka[k] for k in (1, 20)},
            "similarities at 1": largest(over_draws(first[name]) for name in SIMILARITIES),
            "printed Procrustes": over_draws(np.sqrt(first.procrustes)),
            "ratio": over_draws(thirty.shesha / thirty.unbiased_cka),
            "spread at 30": thirty.shesha.std(),
            "draws": rows.seed.nunique(),
            "cka": over_draws(ten.unbiased_cka),
            "split": over_draws(ten.shesha),
            "halves": over_draws(ten.halves_cka),
            "gap": over_draws(ten.shesha - ten.unbiased_cka),
            "gap_of_halves": over_draws(ten.shesha - ten.halves_cka),
        }
    )
