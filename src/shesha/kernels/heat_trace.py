"""Heat trace of a neighbour graph: mean of exp(-t lambda) over the normalised Laplacian's eigenvalues."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shesha.kernels.threads import parallel, single_threaded_blas
from shesha.support.types import Index, Matrix, Vector

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    Graph = csr_array[Any, tuple[int, int]]


TIMES: Vector = np.geomspace(0.1, 10.0, 256)
"""Times at which the heat trace is evaluated."""
EXACT = 1000
"""Largest number of nodes for which eigenvalues are computed; larger graphs use Chebyshev moments."""
STEPS = 8
"""Number of Chebyshev steps. Each step adds two moments; with eight, the truncation error is below 1e-12 of the
weighted maximum."""
_BLOCK = 32
"""Number of identity columns per task. It is fixed so that results do not depend on the number of threads."""
_SPARSE_SHARE = 1 / 100
"""Matrices stay sparse while a sparse product costs at most this share of a dense product."""


def heat_trace(neighbours: Index) -> Vector:
    """Heat trace, at TIMES, of the undirected graph that joins each row to its listed neighbours."""
    graph = _normalise_adjacency(neighbours)
    if len(neighbours) <= EXACT:
        with single_threaded_blas():
            eigenvalues = 1.0 - np.linalg.eigvalsh(graph.toarray())
        return np.asarray(np.exp(-TIMES[:, None] * eigenvalues).mean(axis=1))
    return _series(_moments(graph) / len(neighbours))


def heat_distance(a: Vector, b: Vector) -> float:
    """Largest weighted difference between two heat traces, times a million as in the publication."""
    return float(1e6 * np.max(np.exp(-2.0 * (TIMES + 1.0 / TIMES)) * np.abs(a - b)))


def _normalise_adjacency(neighbours: Index) -> Graph:
    """Adjacency divided by the square roots of both nodes' degrees: identity minus normalised Laplacian."""
    from scipy.sparse import csr_array

    n, k = neighbours.shape
    listed = csr_array((np.ones(n * k), neighbours.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))
    graph = csr_array(listed + listed.T)
    degree = np.diff(graph.indptr)
    graph.data = 1.0 / np.sqrt(np.repeat(degree, degree) * degree[graph.indices])
    return graph


def _series(means: Vector) -> Vector:
    """Heat trace from the means of the Chebyshev polynomials over the graph's eigenvalues.

    Let a = 1 - lambda in [-1, 1]. Then exp(-t lambda) = exp(-t) (I_0(t) + 2 sum of I_m(t) T_m(a)), where the modified
    Bessel functions I_m(t) decrease faster than geometrically as m grows.
    """
    from scipy.special import ive

    terms = ive(np.arange(len(means)), TIMES[:, None])
    terms[:, 1:] *= 2.0
    return np.asarray(terms @ means)


def _moments(graph: Graph) -> Vector:
    """Traces of the Chebyshev polynomials T_0 .. T_2m of the graph, where m is the number of steps.

    The products T_m T_m = (T_2m + 1) / 2 and T_m T_(m-1) = (T_(2m-1) + T_1) / 2 give two moments per step.
    """
    n = graph.shape[0]
    overlaps = np.zeros(2 * STEPS + 1)
    overlaps[2] = graph.multiply(graph).sum()
    before, now, step = _sparse_steps(graph, overlaps)
    twice = 2.0 * graph

    def follow(start: int) -> Vector:
        return _dense_steps(twice, _columns(before, start), _columns(now, start), step)

    if step < STEPS:
        for share in parallel(follow, range(0, n, _BLOCK)):
            overlaps += share
    moments = 2.0 * overlaps
    moments[0::2] -= n
    moments[0] = n
    # No node is its own neighbour, so the trace of T_1 is zero and the odd moments need no correction.
    return moments


def _sparse_steps(graph: Graph, overlaps: Vector) -> tuple[Graph, Graph, int]:
    """Apply the recurrence to sparse matrices while it pays; return the last two polynomials and degree."""
    from scipy.sparse import csr_array, eye_array

    degree = np.diff(graph.indptr)
    before, now, step = csr_array(eye_array(graph.shape[0])), graph, 1
    while step < STEPS and degree @ np.diff(now.indptr) < _SPARSE_SHARE * graph.shape[0] * graph.nnz:
        before, now, step = now, csr_array(2.0 * (graph @ now) - before), step + 1
        overlaps[2 * step - 1] = now.multiply(before).sum()
        overlaps[2 * step] = now.multiply(now).sum()
    return before, now, step


def _columns(polynomial: Graph, start: int) -> Matrix:
    # Polynomials of a symmetric matrix are symmetric, and this sparse format slices rows faster than columns.
    return np.ascontiguousarray(polynomial[start : start + _BLOCK].T.toarray())


def _dense_steps(twice: Graph, before: Matrix, now: Matrix, step: int) -> Vector:
    """Apply the recurrence to a few columns, and sum the products of consecutive polynomials."""
    overlaps = np.zeros(2 * STEPS + 1)
    for degree in range(step + 1, STEPS + 1):
        after = twice @ now
        after -= before
        before, now = now, after
        overlaps[2 * degree - 1] = np.vdot(now, before)
        overlaps[2 * degree] = np.vdot(now, now)
    return overlaps
