"""LEEP and NCE: how well the classes of a source model agree with the target labels."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shesha.inputs import align_labels
from shesha.inputs import validation as check
from shesha.support.device_arrays import array_shape
from shesha.transfer.class_means_and_residuals import class_sums

_ROW_SUM = 1e-3
"""Tolerance for the sum of a row's probabilities, which allows for a softmax in half precision."""


def leep(P: ArrayLike, y: ArrayLike) -> float:
    """Mean log-probability of the labels, predicted from the source model's class probabilities.

    The score is ``mean_i log sum_z P[i, z] p(y_i | z)``. Here p(y | z) is the share of the total probability of source
    class z that falls on rows with label y. Rows of P are divided by their sums, so that they sum to 1 exactly.

    Parameters
    ----------
    P : array of shape (n_samples, n_source_classes)
        Probabilities of the source classes, which must be non-negative and sum to 1 in each row. At least 4 rows.
    y : array of shape (n_samples,)
        Target labels, at least two classes.

    Returns
    -------
    float
        At most 0, and at least minus the entropy of the labels, which is the score for uninformative source classes.
        Higher = easier to transfer. The order of the source classes does not matter.

    References
    ----------
    Nguyen, Hassner, Seeger and Archambeau (2020), LEEP: a new measure to evaluate transferability of
    learned representations.

    Examples
    --------
    >>> P = [[0.9, 0.1], [0.8, 0.2], [0.2, 0.8], [0.1, 0.9]]
    >>> round(leep(P, ["cat", "cat", "dog", "dog"]), 3)
    -0.295
    """
    y, probabilities = align_labels(P, y, other="P"), _probabilities(P)
    codes, _ = check.labels(y, len(probabilities))
    joint = class_sums(probabilities, codes)
    total = joint.sum(axis=0)
    # A source class whose total probability is 0 has no label distribution, so its entries are set to 0.
    given_source = joint / np.where(total > 0, total, 1.0)
    return min(float(np.log(np.einsum("iz,iz->i", probabilities, given_source[codes])).mean()), 0.0)


def _probabilities(P: ArrayLike) -> NDArray[np.float64]:
    rows = check.matrix(P, "P")
    negative = np.flatnonzero((rows < 0).any(axis=1))
    if len(negative):
        raise ValueError(f"P must contain probabilities, got negative numbers in rows {check.join_items(negative)}")
    sums = rows.sum(axis=1, keepdims=True)
    off = np.flatnonzero(np.abs(sums - 1) > _ROW_SUM)
    if len(off):
        raise ValueError(f"P must have rows that sum to 1, got other sums in rows {check.join_items(off)}")
    return np.asarray(rows / sums)


def nce(z: ArrayLike, y: ArrayLike) -> float:
    """Negative conditional entropy of the target labels given the source model's labels.

    The score is ``sum_zy p(z, y) log p(y | z)``, with the natural logarithm.

    Parameters
    ----------
    z : array of shape (n_samples,)
        Source labels, such as the source model's most likely class.
    y : array of shape (n_samples,)
        Target labels, at least two classes.

    Returns
    -------
    float
        In [-log(n_classes), 0]; higher = easier to transfer; 0 if the source label determines the target label. The
        names of the labels do not matter. A source label that occurs only once always determines its target label. The
        score is therefore near 0 for any labels if there are many source classes relative to the number of rows.

    References
    ----------
    Tran, Nguyen and Hassner (2019), Transferability and hardness of supervised classification tasks.

    Examples
    --------
    >>> round(nce(["cat", "cat", "cat", "car", "car"], [0, 0, 1, 2, 2]), 3)
    -0.382
    """
    y, source = align_labels(z, y, other="z"), check.labels(z, math.prod(array_shape(z)), "z", min_classes=1)[0]
    target, names = check.labels(y, len(source))
    pairs, joint = np.unique(source * len(names) + target, return_counts=True)
    conditional = joint / np.bincount(source)[pairs // len(names)]
    return float(joint @ np.log(conditional) / len(source)) + 0.0
