"""Checks on rows with class labels, and the precision of the stored numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from shesha.inputs import validation as check
from shesha.kernels.rounding_and_scaling import length_unit
from shesha.support.warnings import NotEstimable
from shesha.transfer.class_means_and_residuals import ClassedRows, class_sums, precision

_ROUNDINGS = 4
"""Largest number of rounding errors in one entry: from storage, an earlier product, and centring."""


def check_classes(X: ArrayLike, y: ArrayLike) -> ClassedRows:
    """Check rows and labels, and return them; raise NotEstimable if all rows are equal."""
    matrix = check.matrix(X)
    codes, names = check.labels(y, len(matrix))
    unit = length_unit(matrix)
    rows = matrix / unit
    noise = _ROUNDINGS * precision(X) * np.abs(rows).max(axis=0)
    first = rows[np.unique(codes, return_index=True)[1]]
    # Subtracting one row of the class makes equal rows exactly zero; subtracting their rounded mean would not.
    rows -= first[codes]
    counts = np.bincount(codes).astype(np.float64)
    shift = class_sums(rows, codes) / counts[:, None]
    rows -= shift[codes]
    # For the same reason, one row is subtracted first.
    means = first - first[0] + shift
    means -= counts @ means / len(rows)
    data = ClassedRows(codes, names, counts, means, rows, noise, unit)
    if data.within_scatter() == 0 and data.between_scatter() <= len(rows) * data.negligible:
        raise NotEstimable("all rows are equal")
    return data
