"""The barcode of m points with relations is that of the doubled 2m-point complex, ties and duplicates included."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial.distance import cdist

from shesha.kernels.topology import total_lengths

REFERENCE = Path(__file__).parents[1] / "reference"
EXPECTED = json.loads((REFERENCE / "expected.json").read_text(encoding="utf-8"))
RECORDS = [record for record in EXPECTED["values"] if record["measure"] == "resi.RTD"]


def doubled(first, second):
    return np.block([[np.zeros_like(first), first], [first, np.minimum(first, second)]])


def length_by_ripser(first, second):
    ripser = pytest.importorskip("ripser", reason="plain Ripser on the doubled matrix is the reference")
    births, deaths = ripser.ripser(doubled(first, second), distance_matrix=True, maxdim=1)["dgms"][1].astype(float).T
    return (deaths - births)[np.isfinite(deaths)].sum()


def length_by_reduction(first, second):
    """Reduce the boundary matrix of every edge and triangle of the doubled complex."""
    D = doubled(first, second)
    nodes = range(len(D))
    edges = sorted(combinations(nodes, 2), key=lambda edge: D[edge])
    position = {edge: at for at, edge in enumerate(edges)}

    def length(triangle):
        return max(D[edge] for edge in combinations(triangle, 2))

    columns: dict[int, set[int]] = {}
    total = 0.0
    for triangle in sorted(combinations(nodes, 3), key=length):
        boundary = {position[edge] for edge in combinations(triangle, 2)}
        while boundary and max(boundary) in columns:
            boundary ^= columns[max(boundary)]
        if boundary:
            columns[max(boundary)] = boundary
            total += length(triangle) - D[edges[max(boundary)]]
    return total


def scaled(X):
    distances = cdist(X, X)
    quantile = np.quantile(distances, 0.9)
    return distances / (quantile if quantile > 0 else 1.0)


def spanning_tree(distances):
    # SciPy takes zeros for missing edges.
    n = len(distances)
    return minimum_spanning_tree(distances + 1.0).sum() - (n - 1)


PAIRS = {
    "plane": lambda rng, m: (rng.standard_normal((m, 2)), rng.standard_normal((m, 2))),
    "many features": lambda rng, m: (rng.standard_normal((m, 200)), rng.standard_normal((m, 100))),
    "related": lambda rng, m: np.cumsum(rng.standard_normal((2, m, 5)), axis=0),
    "clusters": lambda rng, m: 8 * rng.standard_normal((2, 4, 6))[:, np.arange(m) % 4] + rng.standard_normal((2, m, 6)),
    "duplicate rows": lambda rng, m: rng.standard_normal((2, m, 6))[:, rng.integers(0, 1 + m // 2, m)],
    "lattice": lambda rng, m: rng.integers(0, 4, (2, m, 3)).astype(float),
    "circle": lambda rng, m: (
        np.exp(2j * np.pi * np.arange(m) / m).view(float).reshape(m, 2),
        rng.standard_normal((m, 3)),
    ),
}


@pytest.mark.parametrize("kind", PAIRS)
@pytest.mark.parametrize("m", [3, 4, 5, 10, 25, 60])
def test_both_orders_are_those_of_plain_ripser(rng, kind, m):
    X, Y = (scaled(rows) for rows in PAIRS[kind](rng, m))
    # Ripser computes in single precision.
    assert total_lengths(X, Y) == pytest.approx((length_by_ripser(X, Y), length_by_ripser(Y, X)), rel=2e-6, abs=1e-5)


@pytest.mark.parametrize("kind", PAIRS)
@pytest.mark.parametrize("m", [3, 4, 5, 8])
def test_both_orders_are_those_of_the_boundary_matrix(rng, kind, m):
    X, Y = (scaled(rows) for rows in PAIRS[kind](rng, m))
    assert total_lengths(X, Y) == pytest.approx((length_by_reduction(X, Y), length_by_reduction(Y, X)), abs=1e-12)


@st.composite
def dissimilarities(draw, largest):
    """A symmetric table of few values: no triangle inequality, ties everywhere."""
    m = draw(st.integers(1, 7))
    i, k = np.triu_indices(m, k=1)
    tables = []
    for _ in range(2):
        table = np.zeros((m, m))
        table[i, k] = draw(st.lists(st.integers(0, largest), min_size=len(i), max_size=len(i)))
        tables.append(table + table.T)
    return tables


@given(dissimilarities(largest=4) | dissimilarities(largest=1000))
def test_any_dissimilarities_give_the_boundary_matrix_of_the_doubled_complex(pair):
    assert total_lengths(*pair) == (length_by_reduction(*pair), length_by_reduction(*pair[::-1]))


@given(dissimilarities(largest=3) | dissimilarities(largest=1000))
def test_the_length_is_never_negative_and_zero_for_equal_distances(pair):
    first, second = pair
    assert min(total_lengths(first, second)) >= 0.0
    assert total_lengths(first, first) == (0.0, 0.0)
    # Nothing appears in the smaller distances that the first does not have.
    assert total_lengths(first, first + second)[0] == 0.0


def test_against_coinciding_rows_the_length_is_that_of_the_spanning_tree(rng):
    X = scaled(rng.standard_normal((40, 3)))
    assert total_lengths(X, np.zeros_like(X)) == (pytest.approx(spanning_tree(X)), 0.0)


def test_a_loop_and_the_gaps_that_far_rows_lack_are_counted():
    corners = np.array([[0.0, 0], [1, 0], [1, 1], [0, 1]])
    far = 5.0 * (1 - np.eye(4))
    gaps, loop = 3 * (5 - 1), np.sqrt(2) - 1
    assert total_lengths(far, cdist(corners, corners)) == pytest.approx((gaps + loop, 0.0))


@pytest.mark.parametrize("kind", PAIRS)
def test_the_order_of_the_rows_does_not_matter(rng, kind):
    X, Y = (scaled(rows) for rows in PAIRS[kind](rng, 50))
    order = rng.permutation(50)
    moved = total_lengths(X[np.ix_(order, order)], Y[np.ix_(order, order)])
    assert moved == pytest.approx(total_lengths(X, Y), rel=1e-12)


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record["case"])
def test_reference_values(record):
    X, Y = (scaled(np.load(REFERENCE / record["case"] / f"{name}.npy")) for name in record["inputs"])
    tolerance = EXPECTED["measures"][record["measure"]]["tolerance"]
    assert np.mean(total_lengths(X, Y)) == pytest.approx(record["value"], rel=tolerance, abs=tolerance)
