"""Label scores of numbers whose squares would overflow."""

import numpy as np
import pytest

from shesha.stability import lda_subspace_stability


@pytest.mark.parametrize("shape", [(60, 6), (40, 60)])
@pytest.mark.parametrize("scale", [1e160, 1e300])
def test_discriminants_of_huge_numbers(shape, scale):
    y = np.arange(shape[0]) % 4
    X = np.random.default_rng(0).standard_normal(shape) + 2 * np.eye(4, shape[1])[y]
    # The ridge is 1e-6 in the units of the data.
    expected = lda_subspace_stability(X, y, seed=0)
    assert lda_subspace_stability(X * scale, y, seed=0) == pytest.approx(expected, abs=1e-3)
