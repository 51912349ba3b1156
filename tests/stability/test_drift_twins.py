"""`shesha.rdm_drift` and the measure 'RDM drift' are one computation: they agree to the last bit."""

import numpy as np
import pytest

import shesha
import shesha.measures as measures
from shesha.kernels.distances import METRICS
from shesha.views.rdm import CORRELATIONS

METRIC = pytest.mark.parametrize("metric", METRICS)
METHOD = pytest.mark.parametrize("method", CORRELATIONS)


def pairs():
    rng = np.random.default_rng(11)
    X = rng.standard_normal((40, 7)) + 0.2
    ties = rng.integers(1, 4, (40, 5)) + 4.0 * np.arange(5)
    return {
        "unrelated": (X, rng.standard_normal((40, 12))),
        "related": (X, X @ rng.standard_normal((7, 5)) + 0.1 * rng.standard_normal((40, 5))),
        "itself": (X, X.copy()),
        "opposite": (X, 1 / (0.1 + X**2)),
        "single precision": (X.astype(np.float32), (X**3 + 1).astype(np.float32)),
        "one of each": (X.astype(np.float32), X),
        "tied": (ties, rng.integers(1, 3, (40, 6)) + 4.0 * np.arange(6)),
        "far away": (1e3 + X, 1e-3 * X**3),
    }


@METRIC
@METHOD
@pytest.mark.parametrize("name", pairs())
def test_they_agree_to_the_last_bit(name, metric, method):
    X, Y = pairs()[name]
    found = shesha.rdm_drift(X, Y, metric=metric, method=method)
    assert found == measures.rdm_drift(X, Y, metric=metric, method=method)
    assert 0 <= found <= 2 and (found < 1e-12 if name == "itself" else found > 1e-6 or name == "one of each")


@METHOD
def test_of_distances_as_well(method):
    X, Y = pairs()["related"]
    sides = [shesha.Rdm(shesha.compute_rdm(one)) for one in (X, Y)]
    found = shesha.rdm_drift(*sides, method=method)
    assert found == measures.rdm_drift(*sides, method=method)
    assert shesha.rdm_drift(sides[0], Y, method=method) == measures.rdm_drift(sides[0], Y, method=method)


@METHOD
def test_equal_distances_are_no_number_in_both(method):
    X, _ = pairs()["related"]
    for function in (shesha.rdm_drift, measures.rdm_drift):
        with pytest.warns(shesha.NotEstimableWarning, match="not estimable: .*equal"):
            assert np.isnan(function(X, np.eye(40), metric="euclidean", method=method))


@pytest.mark.parametrize("metric", ["cosine", "correlation"])
def test_a_row_without_a_direction_is_the_one_difference(metric):
    X, Y = (side.copy() for side in pairs()["related"])
    X[3] = 0.0
    with pytest.raises(ValueError, match=rf"X must have no \w+ row under the {metric} metric, got \w+ rows 3"):
        shesha.rdm_drift(X, Y, metric=metric)
    with pytest.warns(shesha.NotEstimableWarning, match=r"not estimable: .*3"):
        assert np.isnan(measures.rdm_drift(X, Y, metric=metric))
