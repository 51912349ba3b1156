"""Feature-split stability, on the given axes and averaged over random rotations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shesha import _validate as check
from shesha._random import Seed, generator
from shesha.kernels import halves
from shesha.kernels.distances import METRICS, Metric, standard_rows, undirected_rows
from shesha.kernels.frames import Axes, Frame, Rotations
from shesha.kernels.threads import single_threaded_blas

MIN_FEATURES = 4
"""Two features in each half: with one, cosine knows only signs."""


def feature_split(
    X: ArrayLike, n_splits: int = 30, metric: Metric = "cosine", seed: Seed = None, max_samples: int | None = 1600
) -> float:
    """Feature-split Shesha: do random halves of the features agree on the geometry?

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
    rows, rng = _prepare(X, n_splits, metric, seed, max_samples, "n_splits")
    draws = [rng.permutation(rows.shape[1]) for _ in range(n_splits)]
    return _mean_over_draws(rows, metric, Axes(rows), draws)


def basis_averaged_split(
    X: ArrayLike, n_rotations: int = 30, metric: Metric = "cosine", seed: Seed = None, max_samples: int | None = None
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
    rows, rng = _prepare(X, n_rotations, metric, seed, max_samples, "n_rotations")
    rows = rows_of("basis_averaged_split", rows, metric)
    draws = rng.spawn(n_rotations)
    return _mean_over_draws(rows, rotation_metric(metric), frame_of("basis_averaged_split", rows), draws)


def rotation_metric(metric: Metric) -> Metric:
    """The metric within halves of rotated rows: correlation rows are centred already."""
    return "cosine" if metric == "correlation" else metric


def rows_of(variant: str, rows: NDArray[np.float64], metric: Metric) -> NDArray[np.float64]:
    """Standard rows on the origin that the variant needs: a rotation moves medians, but not means, along."""
    return rows - rows.mean(axis=0) if metric == "euclidean" and variant != "feature_split" else rows


def frame_of(variant: str, rows: NDArray[np.float64]) -> Frame:
    """The coordinate frame whose halves a variant compares."""
    if variant == "feature_split":
        return Axes(rows)
    with single_threaded_blas():
        return Rotations(rows)


def directed(X: NDArray[np.float64], metric: Metric, name: str = "X") -> NDArray[np.float64]:
    """Standard rows, or an error that names the rows without a direction."""
    bad = undirected_rows(X, metric)
    if len(bad):
        raise no_direction(name, metric, bad)
    return standard_rows(X, metric)


def no_direction(name: str, metric: Metric, rows: NDArray[np.intp]) -> ValueError:
    """The error that names the rows for which the metric is undefined."""
    kind = "zero" if metric == "cosine" else "constant"
    return ValueError(
        f"{name} must have no {kind} row under the {metric} metric, got {kind} rows {check.listed(rows)}: "
        "remove them or use metric='euclidean'"
    )


def _prepare(
    X: ArrayLike, n_draws: int, metric: Metric, seed: Seed, max_samples: int | None, name: str
) -> tuple[NDArray[np.float64], np.random.Generator]:
    check.count(n_draws, name)
    check.choice(metric, METRICS, "metric")
    limit = check.optional_count(max_samples, "max_samples", minimum=4)
    raw = check.raw_matrix(X, "X", min_columns=MIN_FEATURES)
    rng = generator(seed)
    if limit is not None and len(raw) > limit:
        raw = raw[rng.choice(len(raw), limit, replace=False)]
    return directed(check.finite(raw, "X"), metric), rng


def _mean_over_draws(rows: NDArray[np.float64], metric: Metric, frame: Frame, draws: Sequence[object]) -> float:
    try:
        scores = halves.scores(rows, metric, frame, draws)
    except halves.UndirectedHalfError as error:
        kind = "zero" if metric == "cosine" else "constant"
        raise ValueError(
            f"X must have no row that is {kind} within a half of its features under the {metric} metric, "
            f"got {kind} halves in rows {check.listed(error.rows)}: use metric='euclidean', or "
            "shesha.stability.estimate, which leaves such pairs out and counts them"
        ) from None
    if np.isnan(scores).all():
        return check.not_estimable("all distances are equal within a half of the features, in every split")
    return float(np.nanmean(scores))
