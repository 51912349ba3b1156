"""How well the geometry of a representation agrees with class labels."""

from __future__ import annotations

import numpy as np

from shesha.kernels import ranks
from shesha.kernels.distances import Metric
from shesha.stability._registry import stability
from shesha.stability.class_labels import Classes
from shesha.stability.estimators.label_alignment import NOTHING_TO_RANK, estimate_alignment, label_distances
from shesha.support.types import Seed
from shesha.support.warnings import NotEstimable
from shesha.views import Standard


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
