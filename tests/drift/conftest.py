"""Canary rows, and encodings of them that changed nothing."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

JITTER = 1e-3


@pytest.fixture
def canaries(rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal((48, 3)) @ rng.standard_normal((3, 12)) + 0.5 * rng.standard_normal((48, 12))


@pytest.fixture
def again(canaries: np.ndarray, rng: np.random.Generator) -> Callable[..., np.ndarray]:
    """Encode the canaries again, as the model did or with more noise."""

    def encode(noise: float = JITTER) -> np.ndarray:
        return canaries + noise * rng.standard_normal(canaries.shape)

    return encode
