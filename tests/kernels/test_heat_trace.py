"""Heat traces are those of the eigenvalues, whichever way they are computed, and of graphs whose spectrum is known."""

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist

from shesha.kernels import topology as kernel
from shesha.kernels.topology import TIMES, heat_distance, heat_trace

REFERENCE = Path(__file__).parents[1] / "reference"
EXPECTED = json.loads((REFERENCE / "expected.json").read_text(encoding="utf-8"))
RECORDS = [record for record in EXPECTED["values"] if record["measure"] == "resi.IMD:exact"]


@pytest.fixture(params=["eigenvalues", "sparse steps", "dense steps"])
def way(request, monkeypatch):
    use(request.param, monkeypatch)


def use(way, monkeypatch):
    monkeypatch.setattr(kernel, "EXACT", 10**9 if way == "eigenvalues" else 0)
    monkeypatch.setattr(kernel, "_SPARSE_SHARE", 1e9 if way == "sparse steps" else 0.0)


def neighbours(X, k=5):
    distances = cdist(X, X)
    np.fill_diagonal(distances, np.inf)
    return np.argsort(distances, axis=1, kind="stable")[:, :k]


def from_eigenvalues(eigenvalues):
    return np.exp(-np.outer(TIMES, eigenvalues)).mean(axis=1)


def assert_same(found, expected):
    """What the series leaves out grows with time; the weights of the distance leave nothing of it."""
    assert_allclose(found, expected, rtol=0, atol=1.1e-6)
    assert heat_distance(found, expected) < 1e-9 * 1e6 * np.exp(-4.0)


def cycle(n):
    return (np.arange(n)[:, None] + 1) % n, 1 - np.cos(2 * np.pi * np.arange(n) / n)


def path(n):
    return np.r_[1, np.arange(n - 1)][:, None], 1 - np.cos(np.pi * np.arange(n) / (n - 1))


def complete(n):
    others = (np.arange(n)[:, None] + np.arange(1, n)) % n
    return others, np.r_[0.0, np.full(n - 1, n / (n - 1))]


def star(n):
    return np.r_[1, np.zeros(n - 1, dtype=np.intp)][:, None], np.r_[0.0, np.ones(n - 2), 2.0]


@pytest.mark.parametrize("graph", [cycle, path, complete, star])
@pytest.mark.parametrize("n", [3, 4, 31, 32, 65, 150])
def test_known_spectra_give_their_heat_trace(way, graph, n):
    listed, eigenvalues = graph(n)
    assert_same(heat_trace(listed), from_eigenvalues(eigenvalues))


def test_two_separate_copies_have_the_heat_trace_of_one(way, rng):
    one = neighbours(rng.standard_normal((70, 3)))
    assert_same(heat_trace(np.concatenate([one, one + 70])), heat_trace(one))


def test_an_edge_listed_by_both_ends_counts_once(way):
    both = np.array([[1, 2], [0, 2], [0, 1], [2, 1]])
    eigenvalues = np.linalg.eigvalsh(np.eye(4) - adjacency(both) / roots(adjacency(both)))
    assert_same(heat_trace(both), from_eigenvalues(eigenvalues))


def adjacency(listed):
    dense = np.zeros((len(listed), len(listed)))
    np.put_along_axis(dense, listed, 1.0, axis=1)
    return np.maximum(dense, dense.T)


def roots(dense):
    return np.sqrt(np.outer(dense.sum(axis=0), dense.sum(axis=0)))


DATA = {
    "plane": lambda rng: rng.standard_normal((700, 2)),
    "hubs": lambda rng: rng.standard_normal((700, 200)),
    "far clusters": lambda rng: 50 * rng.standard_normal((20, 6))[np.arange(700) % 20] + rng.standard_normal((700, 6)),
    "line": lambda rng: np.arange(700.0)[:, None] + 0.1 * rng.random((700, 1)),
}


@pytest.mark.parametrize("kind", DATA)
def test_chebyshev_moments_agree_with_the_eigenvalues(rng, monkeypatch, kind):
    listed = neighbours(DATA[kind](rng))
    dense = adjacency(listed)
    expected = from_eigenvalues(np.linalg.eigvalsh(np.eye(700) - dense / roots(dense)))
    for way in ("sparse steps", "dense steps", "eigenvalues"):
        use(way, monkeypatch)
        assert_same(heat_trace(listed), expected)


def test_the_distance_is_the_same_by_moments_and_by_eigenvalues(rng, monkeypatch):
    X, Y = (neighbours(rng.standard_normal((400, d))) for d in (4, 50))
    found = []
    for way in ("eigenvalues", "dense steps"):
        use(way, monkeypatch)
        found.append(heat_distance(heat_trace(X), heat_trace(Y)))
    assert found[1] == pytest.approx(found[0], rel=1e-9)


def test_long_graphs_go_through_moments_and_short_ones_do_not(rng, monkeypatch):
    monkeypatch.setattr(kernel, "EXACT", 60)
    listed = [neighbours(rng.standard_normal((n, 3))) for n in (60, 61)]
    monkeypatch.setattr(kernel, "_moments", lambda graph: pytest.fail(f"moments of {graph.shape[0]} nodes"))
    heat_trace(listed[0])
    with pytest.raises(pytest.fail.Exception, match="moments of 61 nodes"):
        heat_trace(listed[1])


@pytest.mark.parametrize("d", [3, 60])
def test_heat_traces_are_the_same_for_one_thread_and_two(way, rng, with_threads, d):
    listed = neighbours(rng.standard_normal((300, d)))
    one, two = (with_threads(n, lambda: heat_trace(listed)) for n in (1, 2))
    assert np.array_equal(one, two)


def test_the_order_of_the_rows_does_not_matter(way, rng):
    listed = neighbours(rng.standard_normal((150, 4)))
    order = rng.permutation(150)
    moved = np.argsort(order)[listed[order]]
    assert_allclose(heat_trace(moved), heat_trace(listed), rtol=1e-12)


def test_equal_graphs_have_no_distance_and_the_distance_is_symmetric(way, rng):
    a, b = (heat_trace(neighbours(rng.standard_normal((90, 4)))) for _ in range(2))
    assert heat_distance(a, a) == 0.0
    assert heat_distance(a, b) == heat_distance(b, a) > 0.0


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record["case"])
def test_reference_values(way, record):
    X, Y = (np.load(REFERENCE / record["case"] / f"{name}.npy") for name in record["inputs"])
    tolerance = EXPECTED["measures"][record["measure"]]["tolerance"]
    found = heat_distance(heat_trace(neighbours(X)), heat_trace(neighbours(Y)))
    assert found == pytest.approx(record["value"], rel=tolerance, abs=tolerance)
