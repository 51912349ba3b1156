"""Feature-split stability on the given axes, and averaged over random rotations."""

from __future__ import annotations

from shesha.inputs import validation as check
from shesha.kernels.distances import Metric
from shesha.stability.estimators.split_scores import estimate_split
from shesha.stability.registry import stability
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
    """Feature-split Shesha: agreement between random halves of the features on the geometry of the rows.

    The features are divided at random into two halves, and the distances between all rows are computed in each half.
    The score is the rank correlation between the two sets of distances, averaged over splits.

    High values mean that the geometry is spread redundantly over the coordinate axes. The score is a property of the
    representation *and its axes*. Under 'cosine', scaling single rows does not change it. Reordering the features does
    not change its average over seeds, but rotating them does (Raju 2026, journal version, A.2; the contrary claim in
    7.1.5 of the long version holds only for isotropic data). `basis_averaged_split` is a property of the geometry
    alone.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The representation, with at least 4 rows, 4 columns and finite values.
    n_splits : int
        Number of random splits of the features. If the number of features is odd, the second half has one feature more.
    metric : {'cosine', 'correlation', 'euclidean'}
        Distance between rows.
    seed : int, Generator or None
        Seed for the random splits, which are drawn as in the public package.
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
    """Feature-split stability after random rotations of the features, averaged over the rotations.

    `feature_split` measures whether the *axes* share the geometry. After a random rotation, every axis is a random
    direction. This score therefore measures how much of the geometry a random half of all directions preserves. It
    depends only on the number of features and on the inner products between rows (between centred rows under
    'correlation'). It is therefore unchanged by X -> X Q for any orthogonal Q, by scaling all values and, under
    'euclidean', by translation. Adding features that are all zero raises the score, so compare only representations of
    equal width.

    The difference `feature_split - basis_averaged_split` shows what the axes themselves contribute. It is negative if
    few axes contain most of the geometry, as after PCA.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The representation, with at least 4 rows, 4 columns and finite values.
    n_rotations : int
        Number of rotations drawn from the Haar (uniform) distribution, each followed by one split.
    metric : {'cosine', 'correlation', 'euclidean'}
        Distance between rows. 'correlation' centres each row before the rotation rather than within each half, because
        rotated features have no common unit.
    seed : int, Generator or None
        Seed for the random rotations. With the same seed, X and X Q have the same score up to rounding if the singular
        values of X are distinct.
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
