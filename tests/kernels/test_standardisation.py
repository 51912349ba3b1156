"""Columns that do not vary stay out, whatever they hold; columns that vary keep their numbers at any scale."""

import numpy as np
import pytest

from shesha.kernels.condition_distances import residuals
from shesha.kernels.rounding_and_scaling import centred_units, is_constant, z_scores

CONSTANTS = (0.3, 1e8 + 0.1, -7.7, 1e-310, 1e-200, 1e300, 0.0)


@pytest.mark.parametrize("number", CONSTANTS)
@pytest.mark.parametrize("n", [2, 7, 1000])
def test_constant_columns_become_zero_and_not_rounding(number: float, n: int) -> None:
    column = np.full(n, number)
    assert is_constant(column)
    assert (z_scores(column) == 0).all()
    assert np.isnan(centred_units(column, constant=np.nan)).all()


@pytest.mark.parametrize("scale", [1e-310, 1e-200, 1.0, 1e200, 1e307])
def test_varying_columns_keep_their_scores_at_any_scale(scale: float) -> None:
    column = np.array([1.0, 2.0, 5.0, 9.0])
    assert not is_constant(scale * column)
    assert z_scores(scale * column) == pytest.approx((column - column.mean()) / column.std(), rel=1e-9)


def test_small_differences_of_large_numbers_vary() -> None:
    column = 1e8 + np.array([0.0, 1e-3, 2e-3])
    assert not is_constant(column)
    assert z_scores(column) == pytest.approx(np.sqrt(1.5) * np.array([-1, 0, 1]), abs=1e-4)


def test_means_of_a_constant_are_constant_up_to_the_rounding_of_their_terms() -> None:
    means = np.array([np.add.accumulate(np.full(n, 0.3))[-1] / n for n in (3, 70, 1000)])
    assert np.ptp(means) > 0
    assert not is_constant(means)
    assert is_constant(means, n_terms=1000)


def test_noise_of_a_channel_that_never_varies_is_zero() -> None:
    rows = np.random.default_rng(0).normal(size=(70, 3))
    codes = np.arange(70) % 7
    rows[:, 1] = 0.3 + codes
    left, _ = residuals(rows, codes)
    assert (left[:, 1] == 0).all()
    assert (left[:, [0, 2]] != 0).all()
