"""Uniformity where no two rows are near: digits that a sum with log n would cost, and what is told of it."""

import math
from itertools import combinations

import numpy as np
import pytest

import shesha
from shesha.measures import uniformity_difference
from shesha.support.warnings import MeasureWarning

RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((2, 30, 20))


def nearness(rows):
    """2 / n sum over pairs of different rows of exp(-2 d^2): log1p of it is what stands above -log n."""
    total = math.fsum(math.exp(-2 * float(((a - b) ** 2).sum())) for a, b in combinations(rows, 2))
    return math.log1p(2 * total / len(rows))


@pytest.mark.parametrize("scale", [0.3, 1.0, 2.0])
@pytest.mark.filterwarnings("ignore::shesha.MeasureWarning")
def test_a_tiny_difference_keeps_its_digits(scale):
    expected = abs(nearness(scale * X) - nearness(scale * Y))
    assert 0 < expected < 0.1
    assert uniformity_difference(scale * X, scale * Y) == pytest.approx(expected, rel=1e-9)


@pytest.mark.filterwarnings("ignore::shesha.MeasureWarning")
def test_rows_of_other_numbers_differ_by_the_logarithms_as_well():
    expected = abs(nearness(X) - nearness(Y[:10]) - math.log(3))
    assert uniformity_difference(X, Y[:10]) == pytest.approx(expected, rel=1e-12)
    # What is left of far rows are the pairs of a row with itself.
    assert uniformity_difference(1e3 * X, 1e3 * Y[:10]) == pytest.approx(math.log(3), rel=1e-12)


def test_far_rows_are_told():
    with pytest.warns(MeasureWarning, match=r"UnifDiff: rows are so far apart that .* all other pairs add [0-9]e-"):
        uniformity_difference(X, Y)
    with pytest.warns(MeasureWarning, match="all other pairs add less than a float can represent"):
        assert uniformity_difference(1e3 * X, 1e3 * Y) == 0.0
    note = shesha.compare(X, Y, ["UnifDiff", "MagDiff"])["UnifDiff"].notes[0]
    assert "Scale the features first" in note


def test_of_near_rows_nothing_is_told():
    unit = [side / np.linalg.norm(side, axis=1, keepdims=True) for side in (X, Y)]
    uniformity_difference(*unit)
    uniformity_difference(unit[0], 1e3 * Y)
    assert shesha.compare(*unit, ["UnifDiff"])["UnifDiff"].notes == ()


def test_equal_rows_at_the_largest_number_of_all_have_no_nan():
    X = np.random.default_rng(0).uniform(-1, 1, (8, 4))
    X[0, 0], X[1] = 1.0, X[2]
    assert uniformity_difference(X * np.finfo(np.float64).max, X * 1e200) == 0.0
