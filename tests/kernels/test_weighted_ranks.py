"""Ranks and correlations under weights are those of the entries written out as often as they occur."""

import numpy as np
import pytest
from scipy.stats import rankdata

from shesha.kernels.ranks import SortedVectors, weighted_correlations


@pytest.mark.parametrize("seed", range(20))
def test_weights_are_repetitions(seed):
    rng = np.random.default_rng(seed)
    values = rng.standard_normal((3, 30)).round(seed % 3)  # With and without ties.
    weights = rng.integers(0, 4, 30)
    written_out = np.repeat(values, weights, axis=1)
    ranks = SortedVectors.build(values).ranks(weights.astype(float))
    np.testing.assert_allclose(np.repeat(ranks, weights, axis=1), rankdata(written_out, axis=1))
    np.testing.assert_allclose(weighted_correlations(values, weights.astype(float)), np.corrcoef(written_out))


def test_what_has_no_spread_has_no_correlation():
    values = np.array([[1.0, 1.0, 1.0], [1.0, 2.0, 3.0]])
    found = weighted_correlations(values, np.ones(3))
    assert np.isnan(found[0]).all()
    assert found[1, 1] == pytest.approx(1)
    assert np.isnan(weighted_correlations(values, np.zeros(3))).all()
