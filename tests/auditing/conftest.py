"""Three representations of the same rows, and one audit of them that tests read but never change."""

from functools import partial

import numpy as np
import pytest

import shesha

QUICK = {"n_bootstrap": 10, "n_permutations": 19}


@pytest.fixture(scope="session")
def quick_audit():
    """The audit with as few resamples as it accepts for every part of it to be there."""
    return partial(shesha.audit, **QUICK)


@pytest.fixture(scope="session")
def layers():
    """The order given is not the order of stability: the second has the least noise."""
    draw = np.random.default_rng(7)
    signal = draw.standard_normal((60, 4)) @ draw.standard_normal((4, 12))
    noise = {"early": 1.5, "middle": 0.3, "late": 0.8}
    return {name: signal + level * draw.standard_normal((60, 12)) for name, level in noise.items()}


@pytest.fixture(scope="session")
def classes():
    return np.arange(60) % 3


@pytest.fixture(scope="session")
def audited(layers, classes, quick_audit):
    return quick_audit(layers, classes, seed=5)
