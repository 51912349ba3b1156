"""Types of arrays and arguments that many signatures share."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
"""Array of any shape and data type."""
Matrix = NDArray[np.float64]
"""Matrix with inputs as rows and features as columns, or another table of numbers."""
Vector = NDArray[np.float64]
"""One number per row, feature, pair or draw."""
Index = NDArray[np.intp]
"""Indices of rows, features or pairs."""
Labels = NDArray[np.intp]
"""The class of each row, numbered from 0."""
Mask = NDArray[np.bool_]
"""Mask of rows, features or pairs."""
Keys = NDArray[np.uint64]
"""Floats converted to unsigned integers that sort in the same order."""
Seed = int | np.random.Generator | None
"""A number makes draws reproducible, a generator continues its stream, and None gives new draws every time."""
