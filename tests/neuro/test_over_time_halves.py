"""Agreement over time where halves do not hold the same conditions."""

import numpy as np
import pytest

from shesha import NotEstimableWarning
from shesha.neuro import over_time, trial_split


def film(shown, seed=0):
    rng = np.random.default_rng(seed)
    code = rng.standard_normal((shown.max() + 1, 20))
    return np.stack([code[shown] + rng.standard_normal((len(shown), 20)) for _ in range(3)], axis=2)


def test_conditions_in_step_with_the_halves_give_no_number():
    """Six stimuli in a fixed order: each is in odd or in even trials only."""
    shown = np.tile(np.arange(6), 20)
    with pytest.warns(NotEstimableWarning, match="responses and unequal distances in both halves"):
        found = over_time(film(shown), shown, n_permutations=19)
    assert np.isnan(found.values).all()
    assert found.reason


def test_a_condition_that_one_half_lacks_takes_no_part():
    rng = np.random.default_rng(1)
    shown = np.empty(84, dtype=int)
    shown[::2] = rng.permuted(np.tile(np.arange(7), 6))
    shown[1::2] = rng.permuted(np.tile(np.arange(6), 7))
    X = film(shown)
    found = over_time(X, shown, n_permutations=0)
    for at in range(3):
        alone = trial_split(X[:, :, at], shown, n_permutations=0)
        assert found.values[at][at] == pytest.approx(alone.value, abs=1e-12)
