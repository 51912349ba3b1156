"""Small recordings with a known geometry."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

Recording = tuple[np.ndarray, np.ndarray]


@pytest.fixture
def recording() -> Callable[..., Recording]:
    """Make Poisson counts of conditions in random order."""

    def make(n_trials: int = 120, n_neurons: int = 12, n_conditions: int = 5, tuned: float = 1.0, seed: int = 0):
        draw = np.random.default_rng(seed)
        shown = draw.integers(n_conditions, size=n_trials)
        rates = 3 + tuned * draw.gamma(1, 2, size=(n_conditions, n_neurons))
        return draw.poisson(rates[shown]).astype(float), shown

    return make
