"""One seed is one p-value, whichever function asks."""

import numpy as np
import pytest

import shesha


@pytest.mark.parametrize("design", [{}, {"blocks": np.arange(40) % 4}, {"groups": np.arange(40) // 4}, {"shift": True}])
@pytest.mark.parametrize("measure", ["cka", "RSA", "mutual kNN", "GULP"])
def test_compare_and_calibrate_draw_the_same_null(measure, design):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((40, 6))
    Y = X + 3 * rng.standard_normal((40, 6))
    one = shesha.calibrate(X, Y, measure, n_permutations=39, seed=5, **design)
    compared = shesha.compare(X, Y, [measure, "CCA"], calibrate=True, n_permutations=39, seed=5, **design)[measure]
    for name in ("p_value", "chance", "chance_sd", "threshold", "calibrated"):
        assert getattr(compared, name) == pytest.approx(getattr(one, name), abs=1e-12), name
    other = shesha.calibrate(X, Y, measure, n_permutations=39, seed=6, **design)
    assert design.get("shift") or other.chance != one.chance
