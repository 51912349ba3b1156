"""Feature-split stability, on the given axes and averaged over random rotations."""

from __future__ import annotations

from shesha.inputs import validation as check
from shesha.kernels.distances import Metric
from shesha.stability._registry import stability
from shesha.stability.estimators.split_scores import estimate_split
from shesha.support.types import Seed
from shesha.views import SplitHalves
from shesha.views.feature_halves import MIN_FEATURES

_SETTINGS = {"metric": "cosine", "n_draws": 30}


@stability(
    view=SplitHalves,
    title="Feature-split stability",
    bounds=(-1, 1),
    means="Do random halves of the features have the same geometry?",
    means_not="High stability does not imply correctness, and low stability does not imply loss of information.",
    reference="Raju 2026, section 3.2",
    invariant=("scaling",),
    estimator=estimate_split,
    settings=_SETTINGS,
    min_columns=MIN_FEATURES,
    samples_pairs=True,
    audited=True,
    place=1,
)
def feature_split(
    halves: SplitHalves,
    n_splits: int = 30,
    metric: Metric = "cosine",
    seed: Seed = None,
    max_samples: int | None = 1600,
) -> float:
    """Feature-split Shesha: agreement of random halves of the features on the geometry.

    The features are cut at random into two halves, the distances between all rows are computed in
    each, and the two sets of distances are rank-correlated; the score is the mean over splits.

    High values mean that the geometry is spread redundantly over the coordinate axes. It is a
    property of the representation *and its axes*: scaling rows (cosine) leaves it alone, reordering
    features does on average over seeds, rotations do not (Raju 2026, journal version, A.2; the long version's contrary
    claim in 7.1.5 holds for isotropic data only). See `basis_averaged_split` for the property of
    the geometry alone.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        At least 4 rows and 4 columns, finite.
    n_splits : int
        Number of random partitions of the features. With an odd number of features the second
        half has one more.
    metric : {'cosine', 'correlation', 'euclidean'}
        Distance between rows.
    seed : int, Generator or None
        Partitions are drawn as the public package draws them.
    max_samples : int or None
        Above this many rows a random subset of that size is used; None uses all.
        (`shesha.stability.estimate` never subsamples rows.)

    Returns
    -------
    float
        Mean Spearman correlation, in [-1, 1]; NaN, with a warning that says why, if all distances
        of a half are equal in every split.

    Raises
    ------
    ValueError
        If a row has no direction under the metric: zero (cosine) or constant (correlation),
        in all features or within a half.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> latent = rng.standard_normal((100, 5))
    >>> round(feature_split(latent @ rng.standard_normal((5, 64)), seed=320), 3)
    0.889
    >>> abs(feature_split(rng.standard_normal((100, 64)), seed=320)) < 0.05
    True
    """
    return halves.mean_correlation(check.count(n_splits, "n_splits"), seed)


@stability(
    view=SplitHalves,
    view_options={"rotated": True},
    title="Basis-averaged stability",
    bounds=(-1, 1),
    means="Do random halves have the same geometry after random rotations? The score does not depend on the axes.",
    means_not="If the score is far above feature_split, a few axes carry the geometry.",
    reference="Raju 2026, section 3.2, averaged over the orthogonal group",
    invariant=("scaling", "orthogonal"),
    estimator=estimate_split,
    settings=_SETTINGS,
    min_columns=MIN_FEATURES,
    samples_pairs=True,
    audited=True,
    place=2,
)
def basis_averaged_split(
    halves: SplitHalves,
    n_rotations: int = 30,
    metric: Metric = "cosine",
    seed: Seed = None,
    max_samples: int | None = 1600,
) -> float:
    """Feature-split stability after a random rotation of the features, averaged over rotations.

    `feature_split` asks whether the *axes* share the geometry; after a random rotation every axis
    is a random direction, so this score asks how much of the geometry a random half of all
    directions holds. It depends on the inner products between rows (under 'correlation': between
    centred rows) and the number of features alone, and is therefore unchanged by X -> X Q for any
    orthogonal Q, by a common scale, and under 'euclidean' by translation. Features that are all zero
    raise it, because half of more directions holds more of the same geometry: compare
    representations of equal width.

    The difference `feature_split - basis_averaged_split` is
    what the axes themselves contribute: negative when few axes carry the geometry (after PCA, say).

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        At least 4 rows and 4 columns, finite.
    n_rotations : int
        Number of Haar-random rotations, each followed by one split.
    metric : {'cosine', 'correlation', 'euclidean'}
        Distance between rows. Correlation centres each row before the rotation, not within halves:
        after a rotation the features have no common unit to be centred over.
    seed : int, Generator or None
        One seed gives X and X Q the same score up to rounding (where singular values are distinct).
    max_samples : int or None
        Above this many rows a random subset of that size is used; None uses all.

    Returns
    -------
    float
        Mean Spearman correlation, in [-1, 1]; NaN, with a warning, as for `feature_split`.

    Examples
    --------
    Concentrating the geometry in a few axes hides it from `feature_split` only:

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 5)) @ rng.standard_normal((5, 64))
    >>> principal = np.linalg.svd(X, full_matrices=False)
    >>> rotated = X @ principal.Vh.T
    >>> float(np.round(basis_averaged_split(X, seed=0), 6)) == float(np.round(basis_averaged_split(rotated, seed=0), 6))
    True
    """
    return halves.mean_correlation(check.count(n_rotations, "n_rotations"), seed)
