"""Types of arrays and arguments that signatures share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
"""Any shape, any values: what files hold."""
Matrix = NDArray[np.float64]
"""Rows are inputs, columns are features (or rows and columns of a table of numbers)."""
Vector = NDArray[np.float64]
"""One number per row, feature, pair or draw."""
Index = NDArray[np.intp]
"""Numbers of rows, features or pairs."""
Labels = NDArray[np.intp]
"""The class of each row, numbered from 0."""
Mask = NDArray[np.bool_]
"""Which rows, features or pairs are meant."""
Keys = NDArray[np.uint64]
"""Numbers as integers that sort alike."""
Seed = int | np.random.Generator | None
"""A number gives the same draws again, a generator goes on, None draws anew."""
