"""Rows of classes that tests share."""

import numpy as np
import pytest


def labelled(rng, n=40, d=5, k=3, gap=1.0):
    """Rows about class centres, in classes of unequal size (at least 7) and random order."""
    y = rng.integers(0, k, n) * rng.integers(0, 2, n)
    y = rng.permutation(np.append(np.repeat(range(k), 7), y[7 * k :]))
    return rng.standard_normal((n, d)) + gap * rng.standard_normal((k, d))[y] + 0.3, y


@pytest.fixture(scope="session")
def make():
    return labelled
