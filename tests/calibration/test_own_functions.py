"""Functions and aggregates of one's own: what they get, what they may return, and what is made of it."""

import matplotlib
import numpy as np
import pytest

import shesha
from shesha import Rdm, calibrate, calibrate_layers, compare_all
from shesha.calibration import DrawError

matplotlib.use("Agg")

RNG = np.random.default_rng(0)
X = RNG.standard_normal((40, 6))
Y = X[:, :3] + RNG.standard_normal((40, 3))
K = 19


def product(a, b):
    return float(np.linalg.norm(a.T @ b))


def test_an_aggregate_beyond_the_bounds_of_the_measure_has_no_maximum():
    found = calibrate_layers([X, Y], [X, Y, X + Y[:, :1]], "CKA", lambda grid: grid.sum(), n_permutations=K, seed=0)
    assert found.value > 1 and np.isnan(found.best)
    assert found.calibrated == pytest.approx(found.value - found.threshold)
    with_maximum = calibrate_layers([X, Y], [X, Y], "CKA", lambda g: g.sum(), n_permutations=K, seed=0, maximum=4)
    assert with_maximum.best == 4 and 0 < with_maximum.calibrated < 1


def test_an_aggregate_on_the_scale_of_the_measure_has_its_maximum():
    own, named = (
        calibrate_layers([X, Y], [X, Y], "CKA", aggregate, n_permutations=K, seed=0)
        for aggregate in (lambda grid: grid.max(), "max")
    )
    assert (own.best, own.calibrated, own.p_value) == (named.best, named.calibrated, named.p_value)


def test_an_aggregate_that_fails_says_for_which_grid():
    with pytest.raises(DrawError, match="aggregate failed for the observed grid: ZeroDivisionError"):
        calibrate_layers([X], [Y], "CKA", lambda grid: 1 / 0, n_permutations=K)


def test_a_function_for_tensors_gets_tensors_everywhere():
    torch = pytest.importorskip("torch", reason="torch is an extra")
    a, b = torch.tensor(X), torch.tensor(Y)

    def tensors(p, q):
        return torch.linalg.norm(p.T @ q)

    options = {"n_permutations": K, "seed": 0}
    expected = calibrate(X, Y, product, **options)
    assert calibrate(a, b, tensors, **options).null == pytest.approx(expected.null)
    assert calibrate_layers([a], {"one": b}, tensors, **options).null == pytest.approx(expected.null)
    truncated = calibrate(X, Y, product, truncate=2, **options)
    assert calibrate(a, b, tensors, truncate=2, **options).null == pytest.approx(truncated.null)


def test_layers_may_come_from_a_generator():
    found = calibrate_layers((Z for Z in (X, Y)), iter([Y]), product, n_permutations=K, seed=0)
    assert found.matrix().equals(calibrate_layers([X, Y], [Y], product, n_permutations=K, seed=0).matrix())


def test_distances_are_no_features():
    with pytest.raises(ValueError, match="X must be features for your own function, got distances between rows"):
        calibrate(Rdm(np.ones((5, 5)) - np.eye(5)), X[:5], product, n_permutations=K)


def test_a_level_with_a_rounding_error_is_the_level():
    found = calibrate(X, X, n_permutations=9, alpha=1 - 0.9, seed=0)
    assert found.p_value == 0.1 and found.significant
    assert calibrate_layers([X], [X], n_permutations=9, alpha=1 - 0.9, seed=0).significant
    assert compare_all({"a": (X, X)}, "CKA", calibrate=True, n_permutations=9, alpha=1 - 0.9)["a"].significant


@pytest.mark.parametrize("scale", [1e200, 1e-200])
@pytest.mark.parametrize("measure", ["ProcDist", "RSMDiff"])
def test_summaries_do_not_depend_on_the_unit(measure, scale):
    one, other = (calibrate(X * unit, Y * unit, measure, n_permutations=K, seed=0) for unit in (1.0, scale))
    assert other.z == pytest.approx(one.z, rel=1e-6)
    assert other.chance_sd == pytest.approx(one.chance_sd * scale, rel=1e-6)


def test_sparse_matrices_become_dense_or_are_refused_with_a_way_out(monkeypatch):
    sparse = pytest.importorskip("scipy.sparse")
    found = [calibrate(one, Y, n_permutations=K, seed=0) for one in (X, sparse.csr_array(X))]
    assert found[0] == found[1]
    monkeypatch.setenv("SHESHA_MEMORY", "1k")
    with pytest.raises(ValueError, match="X, a csr_array that must become dense must fit the memory budget of 1 KiB"):
        calibrate(sparse.csr_array(X), Y, n_permutations=K)


def test_a_pair_without_a_score_tells_why_in_print():
    with pytest.warns(shesha.NotEstimableWarning):
        pairs = {"fine": (X, Y), "dull": (X, np.ones((40, 2)))}
        found = compare_all(pairs, "CKA", calibrate=True, n_permutations=K, seed=0)
    assert "no value for 1 of 2 pairs: all rows are equal" in str(found)
    assert found["dull"].reason == "all rows are equal"
