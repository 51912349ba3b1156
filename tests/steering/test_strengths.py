"""Strengths of steering: the default covers both directions equally, and odd ones are refused."""

import numpy as np
import pytest

from shesha.steering.vectors import PAPER, RELATIVE, strengths


@pytest.mark.parametrize("default", [PAPER, RELATIVE])
def test_default_strengths_rise_and_are_the_same_in_both_directions(default):
    values = np.array(default)
    assert (np.diff(values) > 0).all()
    assert (values == -values[::-1]).all()


def test_strengths_in_lengths_of_a_row_are_multiplied_by_it():
    given, in_rows = strengths([0.0, 1.0, -0.5], "norm", 4.0)
    assert given.tolist() == [-0.5, 0.0, 1.0]
    assert (in_rows == 4 * given).all()
