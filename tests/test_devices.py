"""Arrays that lie on a device are worked on there, and give the numbers that NumPy gives.

Where there is no GPU, two stand-ins: torch on the CPU with its way to NumPy closed but for the library's own door, and
the strict array API's second device, which refuses NumPy and everything outside the standard.
"""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy.stats import rankdata

import shesha
import shesha.measures as measures
from shesha.kernels import device_kernels
from shesha.kernels.condensed_matrices import permutation_grids
from shesha.measures import Measure
from shesha.support import device_arrays
from shesha.support.memory import MemoryBudgetError
from shesha.support.warnings import NotEstimable, NotEstimableWarning
from shesha.views import Representation

torch = pytest.importorskip("torch", reason="torch is an extra")
strict = pytest.importorskip("array_api_strict", reason="a test dependency")

EVERYWHERE = [name for name in measures.names() if measures.get(name).anywhere]
CLOSE = {"rtol": 1e-10, "atol": 1e-12}


def on_torch(Z):
    return torch.tensor(Z)


def on_gpu(Z):
    return torch.tensor(Z, device="cuda")


def on_strict(Z):
    return strict.asarray(Z, device=strict.Device("device1"))


@pytest.fixture(
    params=[
        on_torch,
        on_strict,
        pytest.param(on_gpu, marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")),
    ],
    ids=lambda place: place.__name__,
)
def place(request, monkeypatch):
    """Return a function that puts an array on a device; nothing comes back from there by itself."""
    if request.param is on_torch:
        monkeypatch.setenv("SHESHA_ARRAYS", "own")
        monkeypatch.setattr(torch.Tensor, "__array__", _refused)
    return request.param


def _refused(*args, **options):
    raise TypeError("can't convert this tensor to numpy: it lies on a device")


def data(n=60, d=8, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, X @ rng.standard_normal((d, 6)) + rng.standard_normal((n, 6)) + 50.0


def tied(n=60, seed=0):
    rng = np.random.default_rng(seed)
    return np.eye(5)[rng.integers(0, 5, n)], np.eye(7)[rng.integers(0, 7, n)] * 3.0


def chosen(name: str) -> Measure:
    measure = measures.get(name)
    return measure.with_options(
        **{key: value for key, value in {"k": 4, "seed": 0}.items() if key in measure.parameters}
    )


@pytest.mark.parametrize("name", EVERYWHERE)
def test_measures_give_the_same_number(place, name):
    measure = chosen(name)
    for X, Y in (data(), data(n=20, d=40), data(n=300, d=3, seed=1)):
        try:
            expected = measure.score(X, Y)
        except NotEstimable as reason:
            with pytest.raises(NotEstimable, match=str(reason)[:20]):
                measure.score(place(X), place(Y))
            continue
        np.testing.assert_allclose(measure.score(place(X), place(Y)), expected, **CLOSE)


@pytest.mark.parametrize("name", [name for name in EVERYWHERE if name not in ("PWCCA", "subspace overlap")])
def test_ties_give_the_same_number(place, name):
    measure, (X, Y) = chosen(name), tied()
    try:
        expected = measure.score(X, Y)
    except NotEstimable:
        pytest.skip("has no value for these data")
    np.testing.assert_allclose(measure.score(place(X), place(Y)), expected, **CLOSE)


@pytest.mark.parametrize("name", [name for name in EVERYWHERE if measures.get(name).paired])
def test_nulls_are_the_same_draws(place, name):
    X, Y = data()
    if name == "sampled CKA":
        # It needs features that have something in common.
        X, Y = X + 2 * X[:, :1], Y + 2 * Y[:, :1]
    measure = chosen(name)
    of_arrays = shesha.calibrate(X, Y, measure, n_permutations=20, seed=3)
    of_tensors = shesha.calibrate(place(X), place(Y), measure, n_permutations=20, seed=3)
    np.testing.assert_allclose(of_tensors.null, of_arrays.null, **CLOSE)
    assert of_tensors.p_value == of_arrays.p_value
    assert of_tensors.calibrated == pytest.approx(of_arrays.calibrated, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(
    "options", [{"kernel": "rbf"}, {"kernel": "rbf", "bandwidth": 2.0}, {"bandwidth": "published"}]
)
def test_kernels_of_every_kind(place, options):
    X, Y = data()
    np.testing.assert_allclose(measures.cka(place(X), place(Y), **options), measures.cka(X, Y, **options), **CLOSE)


@pytest.mark.parametrize("metric", ["correlation", "cosine", "euclidean"])
@pytest.mark.parametrize("method", ["spearman", "pearson"])
def test_distances_of_every_kind(place, metric, method):
    for X, Y in (data(), tied()):
        # Rows twice, and almost twice: distances at the rounding level are computed directly.
        X, Y = (np.concatenate([Z, Z[:5], Z[:5] + 1e-9 * np.arange(1, 6)[:, None]]) for Z in (X, Y))
        expected = measures.rsa(X, Y, metric=metric, method=method)
        np.testing.assert_allclose(measures.rsa(place(X), place(Y), metric=metric, method=method), expected, rtol=1e-8)


def unit(ranks):
    centred = ranks - ranks.mean()
    return centred / np.linalg.norm(centred)


@pytest.mark.parametrize("tolerance", [0.0, 1e-9, 0.3])
def test_ranks_of_ties_and_near_ties(place, tolerance):
    rng = np.random.default_rng(0)
    # Far apart from one another, each with up to three companions within the tolerance.
    values = rng.permutation(np.repeat(np.arange(0, 60, 2.0), 4))
    values += rng.uniform(-0.5, 0.5, len(values)) * tolerance
    expected = unit(rankdata(np.round(values / 2)))
    np.testing.assert_allclose(
        device_arrays.to_host(device_kernels.unit_ranks(place(values), tolerance)), expected, atol=1e-14
    )


def test_a_long_chain_of_near_ties_is_data(place):
    rng = np.random.default_rng(0)
    # Each is within the tolerance of the next: cut on a grid they tie two by two at most.
    values = rng.permutation(0.6 * np.arange(200) + 0.01)
    expected = unit(rankdata(np.floor(values)))
    np.testing.assert_allclose(
        device_arrays.to_host(device_kernels.unit_ranks(place(values), 1.0)), expected, atol=1e-14
    )


@pytest.mark.parametrize("values", [np.ones(9), 1 + 1e-12 * np.arange(9.0)])
def test_equal_values_have_no_ranks(place, values):
    assert np.isnan(device_arrays.to_host(device_kernels.unit_ranks(place(values), 1e-10))).all()


@pytest.mark.parametrize("name", ["CKA", "unbiased CKA", "RSA", "mutual kNN", "OrthProc", "CCA"])
def test_layer_grids(place, name):
    a, b = ([data(seed=seed)[side] for seed in range(3)] for side in (0, 1))
    of_arrays = shesha.calibrate_layers(a, b[:2], name, n_permutations=19, seed=0)
    of_tensors = shesha.calibrate_layers(
        [place(Z) for Z in a], [place(Z) for Z in b[:2]], name, n_permutations=19, seed=0
    )
    np.testing.assert_allclose(of_tensors.matrix(), of_arrays.matrix(), **CLOSE)
    np.testing.assert_allclose(of_tensors.null, of_arrays.null, **CLOSE)
    assert of_tensors.matrix("p_value").equals(of_arrays.matrix("p_value"))


def test_truncation(place):
    X, Y = data(n=60, d=20)
    of_arrays, of_tensors = (
        shesha.calibrate(a, b, "OrthProc", truncate=4, n_permutations=19, seed=0)
        for a, b in ((X, Y), (place(X), place(Y)))
    )
    np.testing.assert_allclose(of_tensors.null, of_arrays.null, **CLOSE)


def test_comparisons(place):
    X, Y = data()
    of_arrays, of_tensors = (
        shesha.compare(a, b, ["CKA", "RSA", "SoftCorr", "OrthProc", "mutual kNN"], calibrate=True, n_permutations=19)
        for a, b in ((X, Y), (place(X), place(Y)))
    )
    for expected, found in zip(of_arrays.scores, of_tensors.scores, strict=True):
        for number in ("value", "p_value", "calibrated", "low", "high"):
            assert getattr(found, number) == pytest.approx(getattr(expected, number), rel=1e-9, abs=1e-11)


def test_one_side_on_a_device_and_the_other_not(place):
    X, Y = data()
    assert measures.cka(place(X), Y) == measures.cka(X, place(Y)) == measures.cka(X, Y)


def test_measures_for_numpy_get_numpy(place):
    X, Y = data()
    assert measures.get("SoftCorr").score(place(X), place(Y)) == measures.get("SoftCorr").score(X, Y)


def test_what_no_number_can_come_of_is_said_as_for_numpy(place):
    X, Y = data()
    bad = X.copy()
    bad[3, 1] = np.nan
    with pytest.raises(ValueError, match="X must be finite, got NaN or infinity in rows 3"):
        measures.cka(place(bad), place(Y))
    with pytest.raises(ValueError, match="Y must have as many rows as X"):
        measures.cka(place(X), place(Y[:-1]))
    with pytest.raises(ValueError, match="X must have at least 4 rows"):
        measures.cka(place(X[:3]), place(Y[:3]))
    with pytest.warns(NotEstimableWarning, match="all rows are equal"):
        assert np.isnan(measures.cka(place(np.ones((6, 3))), place(Y[:6])))
    with pytest.warns(NotEstimableWarning, match="zero rows have no cosine distance: rows 2"):
        zero = X.copy()
        zero[2] = 0
        assert np.isnan(measures.jaccard(place(zero), place(Y)))


def test_views_stay_on_the_device(place):
    X, _ = data()
    views = [measures.get(name).look(Representation.build(place(X))) for name in ("CKA", "RSA", "CCA", "OrthProc")]
    held = (views[0].factor, views[1].ranks, views[2].directions, views[3].compact)
    assert not any(device_arrays.is_numpy(array) for array in held)


def test_a_copy_for_another_process_is_numpys(place):
    X, _ = data()
    again = pickle.loads(pickle.dumps(Representation.build(place(X))))
    assert np.array_equal(again.rows, X)


def test_what_comes_to_the_host_may_be_written_into(place):
    X, _ = data()
    found = device_arrays.to_host(place(X))
    found.sort(axis=0)
    assert np.array_equal(found, np.sort(X, axis=0))


def test_single_precision_is_known_as_such(place):
    X, _ = data()
    assert Representation.build(place(X.astype(np.float32))).precision == np.finfo(np.float32).eps


def test_tensors_in_the_hosts_memory_are_numpys(monkeypatch):
    monkeypatch.delenv("SHESHA_ARRAYS", raising=False)
    assert (
        not device_arrays.stays(torch.ones(3))
        and not device_arrays.stays(np.ones(3))
        and not device_arrays.stays([1.0])
    )
    assert device_arrays.stays(on_strict(np.ones(3)))


def test_what_only_has_a_device_is_taken_as_before():
    class Column:
        device = "gpu:0"

        def __array__(self, dtype=None, copy=None):
            return data()[0]

    assert measures.cka(Column(), data()[1]) == measures.cka(*data())


@pytest.mark.parametrize("name", ["CKA", "RSA"])
def test_pairs_that_do_not_fit_the_device_are_refused_beforehand(place, name, monkeypatch):
    monkeypatch.setattr(device_kernels, "free_memory", lambda array: 40_000)
    X = data(n=60, d=60)[0]
    with pytest.raises(MemoryBudgetError, match=r"1,770 pairs of 60 rows must fit into the 39 KiB of free .*host"):
        measures.get(name).look(Representation.build(place(X))).symmetric()


def test_a_device_without_an_answer_has_no_limit():
    assert device_arrays.free_memory(on_strict(np.ones(3))) is None and device_arrays.free_memory(torch.ones(3)) is None


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")
def test_a_gpu_knows_what_is_free():
    assert 0 < device_arrays.free_memory(on_gpu(np.ones(3))) <= torch.cuda.get_device_properties(0).total_memory


@pytest.mark.parametrize("held", [1, 2 * 60 * 60])
def test_relabelled_grids_are_those_of_numpy(place, held, monkeypatch):
    """Some of the second, and some of the orders, at a time."""
    monkeypatch.setattr(device_kernels, "_HELD", held)
    monkeypatch.setattr(device_kernels, "_TOGETHER", 3)
    rng = np.random.default_rng(0)
    first, second = (list(rng.standard_normal((n_layers, 60 * 59 // 2))) for n_layers in (2, 5))
    orders = [rng.permutation(60) for _ in range(7)]
    expected = list(permutation_grids(first, second, 60, orders))
    found = list(permutation_grids([place(one) for one in first], [place(one) for one in second], 60, orders))
    np.testing.assert_allclose(found, expected, **CLOSE)


@pytest.mark.parametrize("own", [True, False])
def test_numpy_arrays_and_lists_never_stay(monkeypatch, own):
    """Even where the host's device_arrays are left to their own library."""
    from shesha.support.device_arrays import stays

    if own:
        monkeypatch.setenv("SHESHA_ARRAYS", "own")
    assert not stays(np.ones((3, 2))) and not stays([[1.0]]) and not stays(None)
    torch = pytest.importorskip("torch")
    assert stays(torch.ones(3, 2)) == own
