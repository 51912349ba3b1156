"""Is stability something else than similarity?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shesha._types import Matrix
from shesha.measures import unbiased_cka
from shesha.stability import feature_split
from shesha.studies._beside import beside
from shesha.studies._data import D, N, mixture
from shesha.studies._page import Page, Picture
from shesha.studies._pictures import figure
from shesha.studies._rates import rank_correlations
from shesha.studies._study import study

if TYPE_CHECKING:
    import pandas as pd

QUADRANTS = ("stable, similar", "stable, not similar", "neither", "similar, not stable")


@study(
    "quadrants",
    paper="Geometric Stability, 7.1.4",
    version=1,
    full={"quadrant": QUADRANTS, "pair": range(15), "seed": range(25)},
    quick={"quadrant": QUADRANTS, "pair": range(15), "seed": range(3)},
    published="quadrants.csv",
)
def quadrants(quadrant: str, pair: int, seed: int) -> dict[str, float]:
    """Can a representation be stable and unlike another, or unstable and like it?

    Sixty pairs of 200 x 256, fifteen of each kind; stability of the first, unbiased CKA of both.
    """
    X, Y = _pair(quadrant, np.random.default_rng([seed, pair, QUADRANTS.index(quadrant)]))
    return {
        "shesha": feature_split(X, n_splits=50, metric="correlation", seed=320),
        "unbiased_cka": float(unbiased_cka(X, Y)),
    }


def _pair(quadrant: str, rng: np.random.Generator) -> tuple[Matrix, Matrix]:
    if quadrant == "stable, similar":
        X = mixture(0.9, rng)
        return X, X + 0.1 * rng.standard_normal((N, D))
    if quadrant == "similar, not stable":
        X = rng.standard_normal((N, D))
        return X, X + 0.15 * rng.standard_normal((N, D))
    share = 0.9 if quadrant == "stable, not similar" else 0.1
    return mixture(share, rng), mixture(share, rng)


@quadrants.page
def page(rows: pd.DataFrame, published: pd.DataFrame | None) -> Page:
    """Put means of the quadrants and the correlation over all pairs beside the published ones."""
    assert published is not None
    table = beside(rows, published, ["quadrant"], ("shesha", "unbiased_cka"))
    rhos = rank_correlations(rows, "shesha", "unbiased_cka")
    made, (ax,) = figure()
    for name in QUADRANTS:
        own = rows[rows.quadrant == name]
        ax.scatter(own.unbiased_cka, own.shesha, s=10, label=name)
    ax.set(xlabel="unbiased CKA of the pair", ylabel="feature split of the first")
    ax.legend(frameon=False, fontsize="small")
    answer = (
        f"Yes: all four kinds exist, and {(table.verdict == 'agrees').sum()} of {len(table)} published means agree. "
        f"Over the sixty pairs the two correlate at {rhos.mean():.2f} +- {rhos.std():.2f} ({len(rhos)} draws; "
        "published: 0.204, 0.20 and 0.087)."
    )
    note = (
        "That correlation is set by the design: the stable pairs are a little more similar than the unstable ones, "
        "which makes 3/16 = 0.19 the expected value. It is no evidence of a relation."
    )
    picture = Picture("quadrants", made, "Stability against similarity of sixty pairs per draw, four separate clusters")
    return Page(answer, (("Means", table),), (picture,), (note,))
