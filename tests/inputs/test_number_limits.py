"""Single numbers as arguments: what lies on a limit is accepted, what lies beyond it is refused."""

import numpy as np
import pytest

from shesha.inputs import validation


@pytest.mark.parametrize("value", [5e-324, 0.5, 1, 1e308])
def test_every_finite_number_above_zero_is_positive(value):
    assert validation.positive(value, "scale") == value


@pytest.mark.parametrize("value", [0, -0.5, np.inf, np.nan])
def test_what_is_not_above_zero_or_not_finite_is_refused(value):
    with pytest.raises(ValueError, match="scale must be positive and finite"):
        validation.positive(value, "scale")


@pytest.mark.parametrize("value", [True, 2.0, "2", None])
def test_counts_are_whole_numbers(value):
    with pytest.raises(TypeError, match="k must be an integer"):
        validation.count(value, "k")


def test_counts_reach_the_largest_32_bit_integer():
    largest = int(np.iinfo(np.int32).max)
    assert validation.count(largest, "k") == largest
    with pytest.raises(ValueError, match="k must be at most"):
        validation.count(largest + 1, "k")
