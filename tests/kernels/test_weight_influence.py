"""The influence of weights is the derivative of weighted correlations, with and without ties."""

import numpy as np
import pytest

from shesha.kernels.ranks import SortedVectors, correlation_influence, weighted_correlations


@pytest.mark.parametrize("ranked", [True, False])
@pytest.mark.parametrize("seed", range(20))
def test_influence_is_the_derivative_of_weighted_correlations(seed, ranked):
    rng = np.random.default_rng(seed)
    values = (rng.standard_normal((3, 40)) + rng.standard_normal(40)).round(seed % 3 or 9)
    lines, direction, cells = SortedVectors.build(values), rng.standard_normal(40), [(1, 0), (2, 0), (2, 1), (2, 2)]

    def correlations(weights):
        moved = weighted_correlations(lines.ranks(weights) if ranked else values, weights)
        return np.array([moved[cell] for cell in cells])

    step = 1e-5
    derivative = (correlations(1 + step * direction) - correlations(1 - step * direction)) / (2 * step)
    found = correlation_influence(lines, cells, ranked=ranked) @ direction / 40
    np.testing.assert_allclose(found, derivative, atol=2e-6)


def test_a_constant_line_has_no_influence():
    lines = SortedVectors.build(np.array([[1.0, 1.0, 1.0], [1.0, 2.0, 3.0]]))
    assert np.isnan(correlation_influence(lines, [(1, 0)], ranked=True)).all()
