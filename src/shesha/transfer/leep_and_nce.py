"""LEEP and NCE: agreement of labels with the source model's own classes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shesha.inputs import validation as check
from shesha.transfer.class_means_and_residuals import class_sums

_ROW_SUM = 1e-3
"""Tolerance for the sum of a row's probabilities, which allows for softmax in half precision."""


def leep(P: ArrayLike, y: ArrayLike) -> float:
    """Mean log-probability of the labels, predicted from the source model's class probabilities.

    ``mean_i log sum_z P[i, z] p(y_i | z)``, where p(y | z) is the share of y in the probability that the rows
    give to z. Rows are scaled to sum exactly 1.

    Parameters
    ----------
    P : array of shape (n_samples, n_source_classes)
        Probabilities of the source classes: not negative, rows sum to 1. At least 4 rows.
    y : array of shape (n_samples,)
        Target labels, at least two classes.

    Returns
    -------
    float
        At most 0; higher = easier to transfer. At least minus the entropy of the labels, which source classes
        that say nothing give. The order of the source classes does not matter.

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
    probabilities = _probabilities(P)
    codes, _ = check.labels(y, len(probabilities))
    joint = class_sums(probabilities, codes)
    total = joint.sum(axis=0)
    # A source class that no row can be in has no labels; its probabilities are 0.
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
    """Negative conditional entropy of the labels given the source model's labels.

    ``sum_zy p(z, y) log p(y | z)``, natural logarithm.

    Parameters
    ----------
    z : array of shape (n_samples,)
        Source labels, such as the source model's most likely class.
    y : array of shape (n_samples,)
        Target labels, at least two classes.

    Returns
    -------
    float
        In [-log(classes), 0]; higher = easier to transfer, 0 if the source label determines the target label.
        Names of labels do not matter. Source labels that occur once determine theirs by themselves: with many
        source classes for the number of rows the score is near 0 whatever the labels.

    References
    ----------
    Tran, Nguyen and Hassner (2019), Transferability and hardness of supervised classification tasks.

    Examples
    --------
    >>> round(nce(["cat", "cat", "cat", "car", "car"], [0, 0, 1, 2, 2]), 3)
    -0.382
    """
    source, _ = check.labels(z, np.size(z), "z", min_classes=1)
    target, names = check.labels(y, len(source))
    pairs, joint = np.unique(source * len(names) + target, return_counts=True)
    conditional = joint / np.bincount(source)[pairs // len(names)]
    return float(joint @ np.log(conditional) / len(source)) + 0.0
