"""Compiled ranks are those of NumPy, bit for bit, however the work is cut."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from shesha.kernels import native, ranks, sorting
from shesha.kernels.feature_halves import Axes, DenseHalves

pytestmark = pytest.mark.skipif(not native.is_available(), reason="compiled loops were not built, or are switched off")
N = 5000


def crowded(rng):
    """All but one value in one bucket, where they differ in their last bits."""
    values = 1 + 1e-12 * rng.standard_normal(N)
    values[7] = 9.0
    return values


VALUES = {
    "normal": lambda rng: rng.standard_normal(N),
    "uniform": lambda rng: rng.random(N),
    "crowded": crowded,
    "ties": lambda rng: rng.integers(0, 40, N) * 1.0,
    "two values": lambda rng: rng.integers(0, 2, N) * 1.0,
    "falling": lambda rng: -(np.arange(N) ** 2.0),
    "a long run": lambda rng: np.sort(np.where(rng.random(N) < 0.4, 0.25, rng.random(N))),
    "two": lambda rng: np.array([2.0, 1.0]),
    "three": lambda rng: np.array([2.0, 3.0, 1.0]),
}


@pytest.fixture
def samples():
    return {name: make(np.random.default_rng(320)) for name, make in VALUES.items()}


@pytest.fixture
def numpy_alone(monkeypatch):
    """Call without the compiled loops."""

    def run(call):
        with monkeypatch.context() as patch:
            patch.setenv("SHESHA_NATIVE", "0")
            return call()

    return run


@pytest.fixture(params=[1 << 20, 1024, 97], ids=["one piece", "five pieces", "many pieces"])
def pieces(request, monkeypatch):
    monkeypatch.setattr(sorting, "_COMPILED_PIECE", request.param)


@pytest.fixture(params=["plain", "avx2", "avx512"])
def level(request, monkeypatch):
    """Every instruction set of this processor."""
    best = native._library().shesha_level()
    number = native._LEVELS.index(request.param)
    if number > best:
        pytest.skip(f"this processor has no {request.param}")
    monkeypatch.setattr(native, "call", lambda name, *arguments: native._call(name, f"_{request.param}", *arguments))


def form_of(values, tolerance=0.0):
    return sorting.fixed_point(values, sorting.value_range(values), tolerance)


@pytest.mark.parametrize("strip", [True, False])
@pytest.mark.parametrize("tolerance", [0.0, 1e-13, 0.01])
def test_sorted_keys_and_their_runs_are_those_of_numpy(samples, pieces, level, numpy_alone, strip, tolerance):
    for name, values in samples.items():
        form = form_of(values, tolerance)

        def work(values=values, form=form):
            keys = np.empty(len(values), dtype=np.uint64)
            return sorting.sort_keys(values, form, keys, strip=strip), keys

        (squares, found), (expected_squares, expected) = work(), numpy_alone(work)
        assert squares == expected_squares and np.array_equal(found, expected), name


@pytest.mark.parametrize("tied", [True, False])
def test_products_of_ranks_are_exact(samples, pieces, level, rng, tied):
    for name, values in samples.items():
        n = len(values)
        other, keys = rng.integers(0, 2 * n, n) / 2 if tied else None, np.empty(n, dtype=np.uint64)
        sorting.sort_keys(values, form_of(values), keys, strip=True)
        order, centre = keys.view(np.intp), (n - 1) / 2
        expected = (((order if other is None else other[order]) - centre) * (np.arange(n) - centre)).sum()
        found, _ = sorting.sum_rank_products(values, form_of(values), np.empty(n, dtype=np.uint64), other)
        assert_allclose(found, expected, rtol=1e-12, atol=1e-4, err_msg=name)
        assert sorting.products(order, other, None) == found, name


def test_products_of_two_vectors_with_ties(pieces, level, rng):
    order, first, second = rng.permutation(N), rng.integers(0, 2 * N, N) / 2, rng.integers(0, 2 * N, N) / 2
    centre = (N - 1) / 2
    assert sorting.products(order, first, second) == ((first[order] - centre) * (second - centre)).sum()


def test_large_sums_are_exact():
    n = 3_000_000
    centred = np.arange(n) - (n - 1) / 2
    exact = (n**3 - n) // 12
    assert sorting.products(np.arange(n), None, None) == float(exact)
    assert sorting.products(np.arange(n)[::-1].copy(), None, None) == -float(exact)
    assert_allclose((centred**2).sum(), exact, rtol=1e-12)


def test_values_are_taken_in_order_with_their_range(samples, pieces, level, rng):
    for name, values in samples.items():
        order, out = rng.permutation(len(values)), np.empty(len(values))
        assert sorting.copy_in_order(values, order, out) == (values.min(), values.max()), name
        assert np.array_equal(out, values[order]), name


@pytest.mark.parametrize("tied", [True, False])
def test_ranks_are_written_to_their_places(pieces, level, rng, tied):
    order, own = rng.permutation(N), rng.integers(0, 2 * N, N) / 2 if tied else None
    expected, direct = np.empty(N), np.empty(N)
    expected[order] = ((np.arange(N) if own is None else own) - 12.5) * 0.3
    sorting.write_ranks(order, own, 12.5, 0.3, direct)
    assert np.array_equal(direct, expected)


def test_rank_correlations_are_those_of_numpy(samples, pieces, level, rng, numpy_alone, with_threads):
    for name, values in samples.items():
        other, free = np.round(values + rng.standard_normal(len(values)), 3), rng.standard_normal(len(values))
        pairs = ((values, other), (other, values), (values, free), (free, values))

        def work(pairs=pairs):
            return [ranks.spearman(a.copy(), b.copy(), (1e-13, 1e-13)) for a, b in pairs]

        found = with_threads(1, work)
        assert found == with_threads(2, work), name
        assert_allclose(found, with_threads(1, lambda work=work: numpy_alone(work)), rtol=0, atol=1e-13, err_msg=name)


def test_unit_ranks_are_those_of_numpy(samples, pieces, level, numpy_alone):
    for name, values in samples.items():
        found, kept = ranks.unit_ranks(values.copy()), values.copy()
        assert np.array_equal(ranks.unit_ranks(kept, out=kept), found), name
        assert np.array_equal(numpy_alone(lambda values=values: ranks.unit_ranks(values.copy())), found), name


@pytest.mark.parametrize("metric", ["cosine", "correlation", "euclidean"])
@pytest.mark.parametrize("few", [True, False])
def test_halves_are_those_of_numpy(level, rng, numpy_alone, metric, few):
    rows, order = rng.standard_normal((300, 13)), rng.permutation(13)
    if few:
        rows[:3, order[:6]] *= 1e3
    rows /= np.sqrt((rows**2).sum(axis=1, keepdims=True))

    def both():
        return DenseHalves(rows, metric, Axes(rows)).visit(order, lambda c: np.array([c.first, c.second]))

    assert np.array_equal(numpy_alone(both), both())
