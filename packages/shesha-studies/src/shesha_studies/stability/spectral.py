"""Do stability and similarity remain after the top principal components are removed?"""

from __future__ import annotations

import numpy as np
import pandas as pd

from shesha.measures import procrustes_similarity, pwcka, unbiased_cka
from shesha.stability import feature_split
from shesha.studies.checks import Found
from shesha.studies.facts import Facts, as_facts, largest, over_draws
from shesha.studies.page import Page, Picture
from shesha.studies.pictures import curves, figure
from shesha.studies.published_checks import draws
from shesha.studies.study_decorator import study
from shesha.studies.tolerance import BY_CHANCE
from shesha.support.types import Matrix
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
    """Compare the four columns with Table 11."""
    means = rows.groupby("k")[list(NUMBERS)].mean()
    halves = rows.groupby("k").halves_cka.mean()
    fig, (ax,) = figure(width=5.4)
    curves(ax, means, NUMBERS)
    ax.plot(means.index, halves, color="0.4", linestyle="--", label="unbiased CKA of two halves")
    ax.axhline(0.5, color="0.7", linewidth=0.8)
    ax.set(xlabel="principal components removed", ylabel="score")
    ax.legend(frameon=False, fontsize="small")
    picture = Picture("spectral", fig, "Four scores against the number of principal components removed")
    return Page("", (("Means", means.reset_index()),), (picture,), answers=published_numbers(rows))


def _crossing(means: pd.Series, level: float) -> int:
    return int(means.index[(means < level).to_numpy()][0])


def _crossings(rows: pd.DataFrame, level: float) -> list[int]:
    """Return where the feature split of each draw first falls below a level."""
    return [_crossing(group.set_index("k").shesha.sort_index(), level) for _, group in rows.groupby("seed")]


def published_numbers(rows: pd.DataFrame) -> dict[str, Found]:
    """Return our value for every number of Table 11, and where scores first fall below a level."""
    means = rows.groupby("k")[list(NUMBERS)].mean()
    table = rows[rows.k.isin(TABLE)]
    per_draw = _crossings(table, 0.5)
    values = {
        f"{name}/{k}": draws(
            rows.loc[rows.k == k, name],
            BY_CHANCE,
        )
        for name in NUMBERS
        for k in TABLE
    }
    for name in NUMBERS:
        crossing = _crossing(means.loc[TABLE, name], 0.5)
        values[f"below/{name}"] = Found(crossing, float(np.std(per_draw, ddof=1)) if name == "shesha" else 0.0)
    if {*range(21, 35)} <= set(means.index):
        values["below 0.4/shesha"] = Found(_crossing(means.shesha, 0.4), float(np.std(_crossings(rows, 0.4), ddof=1)))
    return values


@spectral.facts
def facts(rows: pd.DataFrame, published: pd.DataFrame | None) -> Facts:
    """Return how much more of the split remains than of similarities with the whole and between halves."""
    subset = rows[rows.k == 10].set_index("seed")
    means = rows.groupby("k")[[*NUMBERS, "halves_cka"]].mean()
    values = {
        **{f"first below 0.5, {name}": _crossing(means[name], 0.5) for name in NUMBERS},
        **{f"split at {k}": means.shesha.loc[k] for k in (1, 20)},
        **{f"halves at {k}": means.halves_cka.loc[k] for k in (1, 20)},
        "similarities at 1": largest(over_draws(rows[rows.k == 1][name]) for name in SIMILARITIES),
        "printed Procrustes": over_draws(np.sqrt(rows[rows.k == 1].procrustes)),
        "ratio": over_draws(rows[rows.k == 30].shesha / rows[rows.k == 30].unbiased_cka),
        "spread at 30": rows[rows.k == 30].shesha.std(),
        "draws": rows.seed.nunique(),
    }
    return as_facts({k.replace("0.5", "half"): value for k, value in values.items()}) | {
        "cka": over_draws(subset.unbiased_cka),
        "split": over_draws(subset.shesha),
        "halves": over_draws(subset.halves_cka),
        "gap": over_draws(subset.shesha - subset.unbiased_cka),
        "gap_of_halves": over_draws(subset.shesha - subset.halves_cka),
    }
