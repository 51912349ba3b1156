"""Types of arrays and arguments that signatures share."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
"""Any shape, any values, as in files."""
Matrix = NDArray[np.float64]
"""Rows are inputs, columns are features (or rows and columns of a table of numbers)."""
Vector = NDArray[np.float64]
"""One number per row, feature, pair or draw."""
Index = NDArray[np.intp]
"""Indices of rows, features or pairs."""
Labels = NDArray[np.intp]
"""The class of each row, numbered from 0."""
Mask = NDArray[np.bool_]
"""Mask of rows, features or pairs."""
Keys = NDArray[np.uint64]
"""Numbers converted to integers with the same order."""
Seed = int | np.random.Generator | None
"""A number gives reproducible draws, a generator continues, and None gives new draws."""
