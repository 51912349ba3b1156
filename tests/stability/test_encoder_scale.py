"""Stability of an encoder does not depend on the unit of its outputs."""

import numpy as np
import pytest

from shesha import encoder_stability

X = np.random.default_rng(0).standard_normal((40, 6))


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1.0, 1e160, 1e300])
def test_outputs_of_any_scale_have_one_stability(scale):
    found = encoder_stability(lambda rows: scale * rows, X, 0.5, n=3, seed=0)
    assert found == pytest.approx(encoder_stability(lambda rows: rows, X, 0.5, n=3, seed=0), rel=1e-12)
    assert 0.4 < found < 0.9
