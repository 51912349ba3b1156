"""Places by a table are those of a binary search, and medians of columns those of NumPy."""

import numpy as np
import pytest

from shesha.kernels.sorting import insertion_places
from shesha.support.device_arrays import column_medians

RNG = np.random.default_rng(0)
LEVELS = {
    "even": np.linspace(0, 1, 700),
    "normal": np.unique(RNG.standard_normal(2000)),
    "far": np.unique(np.append(RNG.random(500), 1e12)),
    "one": np.array([2.0]),
    "huge": np.array([-1.7e308, 0.0, 1.7e308]),
}


@pytest.mark.parametrize("name", LEVELS)
def test_places_are_those_of_a_binary_search(name):
    levels = LEVELS[name]
    near = np.nextafter(levels, np.inf)
    values = np.concatenate([RNG.standard_normal(900), RNG.random(900), levels, near, -near, [-1e300, 1e300]])
    values = values.reshape(2, -1) if len(values) % 2 == 0 else values[None]
    assert np.array_equal(insertion_places(levels, values), np.searchsorted(levels, values))


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_column_medians_are_those_of_numpy(n):
    rows = np.random.default_rng(n).integers(9, size=(n, 6)).astype(float)
    assert np.array_equal(column_medians(rows), np.median(rows, axis=0))
