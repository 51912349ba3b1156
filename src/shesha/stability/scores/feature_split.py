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

    The features are split at random into two halves, and the distances between all rows are computed in each half. The
    score is the rank correlation of the two sets of distances, averaged over splits.

    High values mean that the geometry is spread redundantly over the coordinate axes. The score is a property of the
    representation *and its axes*. Under 'cosine', scaling rows does not change it. Reordering features does not
    change its average over seeds, but rotations change it (Raju 2026, journal version, A.2; the long version's contrary
    claim in 7.1.5 is true for isotropic data only). `basis_averaged_split` is a property of the geometry alone.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The representation, with at least 4 rows, 4 columns and finite values.
    n_splits : int
        Number of random partitions of the features. If the number of features is odd, the second half has one more.
    metric : {'cosine', 'correlation', 'euclidean'}
        Distance between rows.
    seed : int, Generator or None
        Seed of the partitions, which are drawn as in the public package.
    max_samples : int or None
        Maximum number of rows. If there are more, a random subset of this size is used; None uses all rows.
        (`shesha.stability.estimate` never subsamples rows.)

    Returns
    -------
    float
        Mean Spearman correlation, in [-1, 1]; NaN, with a warning, if in every split all distances of a half are equal.

    Raises
    ------
    ValueError
        If a row has no direction under the metric: it is zero (cosine) or constant (correlation) in all features or
        within a half.

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

    `feature_split` measures whether the *axes* share the geometry. After a random rotation, every axis is a random
    direction. This score therefore measures how much of the geometry a random half of all directions preserves.
    It depends only on the number of features and the inner products between rows (between centred rows under
    'correlation'). It is therefore unchanged by X -> X Q for any orthogonal Q, by a common scale, and, under
    'euclidean', by translation. Features that are all zero raise it, so compare representations of equal width.

    The difference `feature_split - basis_averaged_split` is the contribution of the axes themselves. It is negative if
    few axes contain most of the geometry, as after PCA.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The representation, with at least 4 rows, 4 columns and finite values.
    n_rotations : int
        Number of Haar-random rotations, each followed by one split.
    metric : {'cosine', 'correlation', 'euclidean'}
        Distance between rows. 'correlation' centres each row before the rotation, not within halves, because rotated
        features have no common unit.
    seed : int, Generator or None
        Seed of the rotations. With the same seed, X and X Q have the same score up to rounding, if the singular values
        of X are distinct.
    max_samples : int or None
        Maximum number of rows. If there are more, a random subset of this size is used; None uses all rows.

    Returns
    -------
    float
        Mean Spearman correlation, in [-1, 1]; NaN, with a warning, as for `feature_split`.

    Examples
    --------
    A rotation that concentrates the geometry in a few axes does not change the score:

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 5)) @ rng.standard_normal((5, 64))
    >>> principal = np.linalg.svd(X, full_matrices=False)
    >>> rotated = X @ principal.Vh.T
    >>> float(np.round(basis_averaged_split(X, seed=0), 6)) == float(np.round(basis_averaged_split(rotated, seed=0), 6))
    True
    """
    return halves.mean_correlation(check.count(n_rotations, "n_rotations"), seed)
