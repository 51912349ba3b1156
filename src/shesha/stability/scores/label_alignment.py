"""Scores of rows with class labels: agreement of the geometry with the labels, and stable discriminant directions."""

from __future__ import annotations

from functools import partial

import numpy as np

from shesha.inputs import validation as check
from shesha.kernels import ranks
from shesha.kernels.class_statistics import in_units_of_spread, overlaps
from shesha.kernels.distances import Metric
from shesha.stability.label_scores import (
    NOTHING_TO_RANK,
    estimate_alignment,
    estimate_overlaps,
    label_distances,
)
from shesha.stability.registry import Classes, mean_score, stability
from shesha.support.seeds import generator
from shesha.support.types import Matrix, Seed
from shesha.support.warnings import NotEstimable
from shesha.views import Plain, Standard


@stability(
    needs="labels",
    view=Standard,
    view_options={"centred": True},
    title="Alignment with the labels",
    bounds=(-1, 1),
    means="Are rows with the same label closer to each other than other rows?",
    means_not="Ties keep the score below 1 even for perfect classes. Labels may be decodable even if the score is 0.",
    reference="Raju 2026, section 3.3",
    invariant=("scaling", "translation"),
    estimator=estimate_alignment,
    settings={"metric": "correlation"},
    samples_pairs=True,
    audited=True,
    place=11,
    alias="supervised",
)
def supervised_alignment(
    rows: Standard, y: Classes, metric: Metric = "correlation", seed: Seed = None, max_samples: int | None = 300
) -> float:
    """Rank correlation of the distances between rows with the differences between their labels.

    The mean of each column is subtracted first. A label difference has only two possible values, so ties keep the score
    below 1 even for perfectly separated classes (0.87 for two classes of equal size).

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The representation, with at least 4 rows and finite values.
    y : array of shape (n_samples,)
        Class labels, with at least two classes.
    metric : {'correlation', 'cosine', 'euclidean'}
        Distance between rows.
    seed : int, Generator or None
        Seed for the random subset of rows.
    max_samples : int or None
        Maximum number of rows. If there are more, a random subset of this size is used; None uses all rows.

    Returns
    -------
    float
        Spearman correlation, in [-1, 1]; NaN, with a warning, if all distances or all label differences are equal.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 20)
    >>> round(supervised_alignment(rng.standard_normal((40, 6)) + 5 * np.eye(6)[y], y), 3)
    0.866
    """
    differ = label_distances(y.codes)
    # Label differences have only two values, so ranking them would not change the correlation.
    unit = ranks.unit_ranks(rows.squared(), rows.level)
    differ -= differ.mean()
    length = float(np.sqrt((differ**2).sum()))
    if length == 0 or np.isnan(unit[0]):
        raise NotEstimable(NOTHING_TO_RANK)
    return float(np.clip((unit * differ).sum() / length, -1.0, 1.0))


_SETTINGS = {"n_draws": 50, "subsample_frac": 0.5}


def _require_two(y: Classes) -> None:
    if y.n_classes != 2:
        raise ValueError(
            f"y must contain exactly 2 classes, got {y.n_classes}; use shesha.stability.lda_subspace_stability for "
            "more classes"
        )


@stability(
    needs="labels",
    view=Plain,
    title="Stability of the discriminant direction",
    bounds=(0, 1),
    means="Do resamples of the rows agree on the direction that separates two classes?",
    means_not="A stable direction may separate classes badly. Even random directions agree well with few features.",
    reference="Raju 2026, section 3.3",
    invariant=("translation", "orthogonal"),
    estimator=partial(estimate_overlaps, scaled=False),
    settings=_SETTINGS,
    require_classes=_require_two,
)
def lda_stability(
    data: Plain, y: Classes, n_bootstrap: int = 50, subsample_frac: float = 0.5, seed: Seed = None
) -> float:
    """Agreement between the linear discriminant direction of all rows and those of stratified resamples.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The representation, with at least 4 rows and finite values.
    y : array of shape (n_samples,)
        Labels of exactly two classes. For more classes, use `shesha.stability.lda_subspace_stability`.
    n_bootstrap : int
        Number of resamples, which are drawn with replacement, as in the public package.
    subsample_frac : float
        Size of each resample as a share of the rows, in (0, 1]. Half of each resample comes from each class.
    seed : int, Generator or None
        Seed for the random resamples.

    Returns
    -------
    float
        Mean absolute cosine, in [0, 1]; NaN, with a warning, if the class means are equal. As in the public package,
        1e-6 is added to the diagonal of the within-class covariance. If the variances of the features are far above
        this ridge, the score does not depend on the unit of the features. If they are far below it, the direction is
        the difference of the class means.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.repeat([0, 1], 100)
    >>> X = np.random.default_rng(0).standard_normal((200, 5)) + 3 * y[:, None]
    >>> round(lda_stability(X, y, seed=0), 2)
    0.98
    """
    return _mean_overlap(data.rows, y, n_bootstrap, subsample_frac, seed)


@stability(
    needs="labels",
    view=Plain,
    title="Stability of the discriminant subspace",
    bounds=(0, 1),
    means="Do resamples of the rows agree on the directions that separate the classes?",
    means_not="A stable subspace may separate classes badly. Even random subspaces agree well with few features.",
    reference="Raju 2026, section 3.3, for any number of classes",
    invariant=("translation", "orthogonal", "scaling"),
    estimator=partial(estimate_overlaps, scaled=True),
    settings=_SETTINGS,
)
def lda_subspace_stability(
    data: Plain, y: Classes, n_bootstrap: int = 50, subsample_frac: float = 0.5, seed: Seed = None
) -> float:
    """Agreement between the linear discriminant subspace of all rows and those of stratified resamples.

    The subspace is spanned by the discriminant directions of all classes and has at most min(n_classes - 1, n_features)
    dimensions. The agreement of two subspaces is the mean cosine of their principal angles. A ridge of 1e-6 of the mean
    variance of the features is added to the within-class covariance, so the score does not depend on their unit. With
    two classes and features of mean variance 1, the score equals `lda_stability`.

    Parameters
    ----------
    X, y, n_bootstrap, subsample_frac, seed
        As for `lda_stability`, but with two or more classes. Each resample contains the same number of rows from each
        class, drawn with replacement.

    Returns
    -------
    float
        Mean cosine, in [0, 1]; NaN, with a warning, if all class means are equal.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.repeat([0, 1, 2], 100)
    >>> X = np.random.default_rng(0).standard_normal((300, 5)) + 3 * np.eye(5)[y]
    >>> round(lda_subspace_stability(X, y, seed=0), 2)
    0.99
    """
    return _mean_overlap(in_units_of_spread(data.rows), y, n_bootstrap, subsample_frac, seed)


def _mean_overlap(X: Matrix, y: Classes, n_bootstrap: int, subsample_frac: float, seed: Seed) -> float:
    n_bootstrap = check.count(n_bootstrap, "n_bootstrap")
    share = check.fraction(subsample_frac, "subsample_frac")
    if int(len(X) * share) // y.n_classes < 1:
        raise ValueError(
            f"subsample_frac must leave a row of each of the {y.n_classes} classes, got {subsample_frac} of "
            f"{len(X)} rows"
        )
    scores = overlaps(X, y.codes, n_bootstrap, share, generator(seed))
    return mean_score(scores, "all class means are equal, so there is no discriminant direction")
