"""Measures that compare a single number per representation."""

from __future__ import annotations

import numpy as np

from shesha.kernels.distances import Metric
from shesha.measures.registry import measure
from shesha.support.types import Seed
from shesha.views import Concentricity, Magnitude, SplitStability, Uniformity

FAMILY = "statistics"
_COARSE = "Unrelated representations can have equal values, and so a difference of 0."
_ALONE = 1e-6
"""If pairs of different rows contribute less than this share of the mean, they have no visible effect."""


def _no_near_rows_note(a: Uniformity, b: Uniformity) -> str:
    """Return a note if, on either side, no two different rows are close enough to contribute."""
    share = max(a.beyond, b.beyond)
    if share >= _ALONE or min(a.n_rows, b.n_rows) < 2:
        return ""
    size = f"{share:.0e}" if share > 0 else "less than a float can represent"
    return (
        "rows are so far apart that exp(-2 d^2) is 0 except for a row with itself. Both uniformities are -log n, and "
        f"all other pairs add {size}. Scale the features first, for example to rows of unit length"
    )


@measure(
    "MagDiff",
    view=Magnitude,
    closer="lower",
    bounds=(0, np.inf),
    symmetric=True,
    invariant=("orthogonal",),
    family=FAMILY,
    cost="n d",
    formula="| ||mean_i x_i|| - ||mean_i y_i|| |",
    reference="Wang et al. 2022",
    caveats=(_COARSE,),
    paired=False,
    self_value=0.0,
    groups=("ReSi",),
)
def magnitude_difference(a: Magnitude, b: Magnitude) -> float:
    """Difference between the norms of the two mean rows.

    Examples
    --------
    >>> magnitude_difference(np.ones((5, 4)), np.zeros((5, 2)))
    2.0
    """
    return abs(a.value - b.value)


@measure(
    "ConcDiff",
    view=Concentricity,
    closer="lower",
    bounds=(0, 2),
    symmetric=True,
    invariant=("orthogonal", "scaling"),
    family=FAMILY,
    cost="n d",
    formula="| mean_i cos(x_i, mean x) - mean_i cos(y_i, mean y) |",
    reference="Wang et al. 2022",
    caveats=(_COARSE,),
    paired=False,
    self_value=0.0,
    groups=("ReSi",),
)
def concentricity_difference(a: Concentricity, b: Concentricity) -> float:
    """Difference between the two mean cosines of rows with their mean row.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((50, 8))
    >>> round(concentricity_difference(X, 3 * X[::-1, ::-1]), 6)
    0.0
    """
    return abs(a.value - b.value)


@measure(
    "UnifDiff",
    view=Uniformity,
    closer="lower",
    bounds=(0, np.inf),
    symmetric=True,
    invariant=("orthogonal", "translation"),
    family=FAMILY,
    cost="n^2 d",
    formula="| log mean_ij exp(-2 ||x_i - x_j||^2) - the same of Y |, all n^2 pairs",
    reference="Wang and Isola 2020",
    caveats=(
        _COARSE,
        "Pairs of rows farther apart than about 3 (many or large features) add almost nothing: scale rows first, for "
        "example to unit length. The difference then comes from the few nearest pairs.",
    ),
    paired=False,
    self_value=0.0,
    groups=("ReSi",),
    remark=_no_near_rows_note,
)
def uniformity_difference(a: Uniformity, b: Uniformity) -> float:
    """Difference between the two uniformities, which measure how evenly rows fill their space.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((50, 8))
    >>> round(uniformity_difference(X, X[::-1, ::-1] + 1), 6)
    0.0
    """
    return a.difference(b)


@measure(
    "stability difference",
    view=SplitStability,
    closer="lower",
    bounds=(0, 2),
    symmetric=True,
    invariant=("scaling",),
    family="stability",
    cost="n^2 d",
    formula="| feature_split(X) - feature_split(Y) |",
    reference="Raju 2026",
    caveats=(_COARSE, "Halves are random: pass a seed to get a reproducible number."),
    paired=False,
    self_value=0.0,
)
def stability_difference(
    a: SplitStability, b: SplitStability, *, metric: Metric = "cosine", n_splits: int = 30, seed: Seed = None
) -> float:
    """Difference between the two feature-split stabilities.

    Parameters
    ----------
    metric : {'cosine', 'correlation', 'euclidean'}
        Distance between rows.
    n_splits : int
        Number of random divisions of the features into halves.
    seed : int, Generator or None
        Seed for the halves, as for `shesha.feature_split`. An int gives representations of equal width the same halves.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((50, 8))
    >>> stability_difference(X, 3 * X, seed=0)
    0.0
    """
    return abs(a.value - b.value)
