import numpy as np
import pytest


@pytest.fixture
def two_classes():
    """80 rows of 12 features, two classes that lie apart along the difference of the first two."""
    rng = np.random.default_rng(0)
    y = np.repeat(["neg", "pos"], 40)
    X = rng.standard_normal((80, 12)) + 2 * np.eye(12)[(y == "pos").astype(int)] + 3.0
    return X, y


@pytest.fixture
def three_classes():
    rng = np.random.default_rng(1)
    y = np.tile(["entailment", "neutral", "contradiction"], 30)
    place = {"entailment": 0, "neutral": 1, "contradiction": 2}
    return rng.standard_normal((90, 10)) + 2 * np.eye(10)[[place[one] for one in y]], y
