"""Agreement of a representation's geometry with class labels."""

from __future__ import annotations

import numpy as np

from shesha.kernels import ranks
from shesha.kernels.class_statistics import class_variance_share, mean_separation
from shesha.kernels.distances import Metric
from shesha.stability._registry import stability
from shesha.stability.class_labels import Classes
from shesha.stability.estimators.label_alignment import NOTHING_TO_RANK, estimate_alignment, label_distances
from shesha.stability.estimators.label_scores import estimate_variance_ratio, estimate_zscore
from shesha.support.types import Seed
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
    """Rank correlation between distances between rows and differences between their labels.

    Column means are removed first. The label distances take two values, so ties keep the score
    below 1 even for perfect classes (0.87 for two equal, perfectly separated ones).

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        At least 4 rows, finite.
    y : array of shape (n_samples,)
        Class labels, at least two classes.
    metric : {'correlation', 'cosine', 'euclidean'}
        Distance between rows.
    seed : int, Generator or None
        For the subsample.
    max_samples : int or None
        Above this many rows a random subset of that size is used; None uses all.

    Returns
    -------
    float
        In [-1, 1]; NaN, with a warning, if the distances of the rows or of the labels are all equal.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 20)
    >>> round(supervised_alignment(rng.standard_normal((40, 6)) + 5 * np.eye(6)[y], y), 3)
    0.866
    """
    differ = label_distances(y.codes)
    # Two values have two ranks: the correlation with them is that with the values themselves.
    unit = ranks.unit_ranks(rows.squared(), rows.level)
    differ -= differ.mean()
    length = float(np.sqrt((differ**2).sum()))
    if length == 0 or np.isnan(unit[0]):
        raise NotEstimable(NOTHING_TO_RANK)
    return float(np.clip((unit * differ).sum() / length, -1.0, 1.0))


@stability(
    needs="labels",
    view=Plain,
    title="Variance between classes",
    bounds=(0, 1),
    means="Share of the variance that the labels explain.",
    means_not="Random labels give about (classes - 1) / (rows - 1), not 0.",
    reference="Raju 2026, section 3.3",
    invariant=("scaling", "translation", "orthogonal"),
    estimator=estimate_variance_ratio,
    audited=True,
    place=12,
    alias="variance",
)
def variance_ratio(data: Plain, y: Classes) -> float:
    """Share of the total variance between classes.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        At least 4 rows, finite.
    y : array of shape (n_samples,)
        Class labels, at least two classes.

    Returns
    -------
    float
        In [0, 1]: the R-squared of predicting the coordinates from the class. Labels at random
        give about (classes - 1) / (n_samples - 1), not 0. NaN, with a warning, if all rows are equal.

    Examples
    --------
    >>> variance_ratio([[0.0], [0.0], [1.0], [1.0]], ["a", "a", "b", "b"])
    1.0
    """
    value = class_variance_share(data.rows, y.codes)
    if np.isnan(value):
        raise NotEstimable("all rows are equal, so there is no variance to divide")
    return value


@stability(
    needs="labels",
    view=Plain,
    title="Distance from other classes",
    bounds=(-1, 1),
    means="Relative difference of distances to the own class mean and to the mean of other rows; 0 means no "
    "separation.",
    means_not="Random labels give slightly more than 0, especially for small classes.",
    reference="Raju 2026, journal version, A.1",
    invariant=("scaling", "translation", "orthogonal"),
    estimator=estimate_zscore,
    audited=True,
    place=14,
)
def zscore_separation(data: Plain, y: Classes) -> float:
    """Mean over classes of (inter - intra) / (inter + intra), Euclidean.

    For each class with at least two members, `intra` is the mean distance of its members to their
    own mean, `inter` their mean distance to the mean of all other rows.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        At least 4 rows, finite.
    y : array of shape (n_samples,)
        Class labels, at least two classes.

    Returns
    -------
    float
        In [-1, 1]. Labels at random give a little more than 0: about 1 / (4 m) + 1 / (4 (n - m)) for classes
        of m among n rows. NaN, with a warning, if no class has two members, or all rows are equal.

    Examples
    --------
    >>> zscore_separation([[0.0], [2.0], [10.0], [12.0]], [0, 0, 1, 1])
    0.8181818181818182
    """
    value = mean_separation(data.rows, y.members)
    if np.isnan(value):
        raise NotEstimable("no class has two members that differ from the other rows")
    return value
