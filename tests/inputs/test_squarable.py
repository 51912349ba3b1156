"""Numbers whose squares leave the range of floats are refused by name, not turned into infinities."""

import warnings

import numpy as np
import pytest

from shesha.coherence import coherence, coherence_by_group
from shesha.drift import two_sample

ROWS = np.random.default_rng(0).standard_normal((40, 4))
LABELS = np.repeat(["control", "group"], 20)
CALLS = {
    "coherence_by_group": lambda scale: (
        coherence_by_group(ROWS * scale, LABELS, "control", n_draws=19, seed=0).groups[0].coherence
    ),
    "coherence": lambda scale: coherence(ROWS[20:] * scale, ROWS[:20] * scale).coherence,
    "two_sample": lambda scale: two_sample(ROWS[:20] * scale, ROWS[20:] * scale, n_permutations=19, seed=0).p_value,
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("scale", [1e-90, 1e-30, 1e30, 1e90])
def test_scales_within_the_range_change_nothing(name, scale):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert CALLS[name](scale) == pytest.approx(CALLS[name](1.0), rel=1e-9)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("scale", [1e-160, 1e160, 1e300])
def test_scales_beyond_it_are_refused(name, scale):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match=r"must have its largest entry between 1e-100 and 1e\+100"):
            CALLS[name](scale)
