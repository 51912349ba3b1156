"""The memory that a spectrum needs, and the rule that distinguishes fitted axes from chance."""

import numpy as np
import pytest

from shesha.kernels.spectrum import decorrelation_p_value, variances_and_moments


def test_a_spectrum_fits_in_the_memory_of_the_smaller_side(monkeypatch, rng):
    monkeypatch.setenv("SHESHA_MEMORY", "8M")
    assert len(variances_and_moments(rng.standard_normal((200, 300)))[0]) > 0


@pytest.mark.parametrize(
    ("d", "correlation", "fitted"),
    [
        (40, 0.0, True),  # uncorrelated columns
        (40, 0.08, False),  # 0.64 of the expected squares: very unlikely by chance, but not fitted
        (4, 0.06, False),  # few pairs, whose correlations are as small by chance
    ],
)
def test_columns_are_fitted_if_their_correlations_are_small_and_rare(d, correlation, fitted):
    covariance = np.full((d, d), correlation)
    np.fill_diagonal(covariance, 1.0)
    assert np.isnan(decorrelation_p_value(covariance, 101)) != fitted
