"""One number per representation, compared: coarse, cheap, and blind to which row is which."""

from __future__ import annotations

import numpy as np

from shesha._types import Seed
from shesha.kernels.distances import Metric
from shesha.measures._registry import measure
from shesha.views import Concentricity, Magnitude, SplitStability, Uniformity

FAMILY = "statistics"
_COARSE = "Representations that share nothing may have equal values."


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
    reference="Wang et al. 2020",
    caveats=(_COARSE,),
    paired=False,
    self_value=0.0,
    groups=("ReSi",),
)
def magnitude_difference(a: Magnitude, b: Magnitude) -> float:
    """Difference between the lengths of the two mean rows.

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
    reference="Wang et al. 2020",
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
        "Features far apart in their own units all have the value -log n: scale them first.",
    ),
    paired=False,
    self_value=0.0,
    groups=("ReSi",),
)
def uniformity_difference(a: Uniformity, b: Uniformity) -> float:
    """Difference between the two uniformities: how evenly the rows fill their space.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((50, 8))
    >>> round(uniformity_difference(X, X[::-1, ::-1] + 1), 6)
    0.0
    """
    return abs(a.value - b.value)


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
    caveats=(_COARSE, "Random halves: pass a seed to get the same number again."),
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
        Number of random halves of the features.
    seed : int, Generator or None
        As for `shesha.feature_split`; an int draws the same halves for representations of equal width.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((50, 8))
    >>> stability_difference(X, 3 * X, seed=0)
    0.0
    """
    return abs(a.value - b.value)
