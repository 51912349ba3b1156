"""Topology: the cross-barcode of two distance matrices, and the heat trace of a neighbour graph."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import merge
from math import fsum
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from shesha.kernels.threads import parallel, single_threaded_blas
from shesha.support.types import Index, Matrix, Vector

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    Graph = csr_array[Any, tuple[int, int]]


Nodes = int
"""A set of nodes: bit j is set if the set contains node j."""
Chain = int
"""A sum of generators over the field of two elements; bits are in the order of the generators' births."""
Basis = dict[int, Chain]
"""Independent chains, each under the position of its youngest generator."""


@dataclass(frozen=True)
class _Loops:
    """Generators and triangle relations of the elementwise minimum, which are shared by (X, Y) and (Y, X)."""

    births: list[float]
    chains: list[list[Chain]]
    triangles: list[tuple[float, Chain]]


def total_lengths(first: Matrix, second: Matrix) -> tuple[float, float]:
    """Sum of the H1 bar lengths of [[0, first], [first, min(first, second)]], and with the roles swapped.

    Most of the work is shared, so the second sum takes only a fifth of the time of the first.
    """
    lower = np.minimum(first, second)
    # Central nodes, which have the most edges, get the highest bits, because the tip is the highest bit of a link.
    outer_first = np.argsort(-lower.sum(axis=0), kind="stable")
    order = np.ix_(outer_first, outer_first)
    loops = _loops(lower[order])
    return _length(first[order], loops), _length(second[order], loops)


def _length(distances: Matrix, loops: _Loops) -> float:
    """Sum of deaths minus sum of births, where each edge becomes zero at its entry in `distances`."""
    near = [0] * len(distances)
    edges = ((length, loops.chains[i][k]) for length, i, k, link in _edges(distances, near) if not link)
    basis: Basis = {}
    deaths = []
    for length, relation in merge(loops.triangles, edges, key=itemgetter(0)):
        if _extend_basis(basis, relation):
            deaths.append(length)
            if len(deaths) == len(loops.births):
                break
    return fsum(deaths) - fsum(loops.births)


def _loops(distances: Matrix) -> _Loops:
    """Process the edges from short to long, and keep the generators and the independent triangles."""
    m = len(distances)
    near = [0] * m
    chains = [[0] * m for _ in range(m)]
    births: list[float] = []
    triangles: list[tuple[float, Chain]] = []
    basis: Basis = {}
    component = list(range(m))
    n_open = 0
    for length, i, k, link in _edges(distances, near):
        if link:
            tip = link.bit_length() - 1
            chain = chains[i][tip] ^ chains[k][tip]
            # While no loop is open, every further triangle depends on earlier ones.
            for other in _remaining_components(link, tip, near) if n_open else ():
                relation = _extend_basis(basis, chain ^ chains[i][other] ^ chains[k][other])
                if relation:
                    triangles.append((length, relation))
                    n_open -= 1
        else:
            chain = 1 << len(births)
            births.append(length)
            if component[i] == component[k]:
                n_open += 1
            else:
                component = [component[i] if part == component[k] else part for part in component]
        chains[i][k] = chains[k][i] = chain
    return _Loops(births, chains, triangles)


def _edges(distances: Matrix, near: list[Nodes]) -> Iterator[tuple[float, int, int, Nodes]]:
    """Yield the edges from short to long with their links, and record the neighbours of each node."""
    rows, columns = np.triu_indices(len(distances), k=1)
    lengths = distances[rows, columns]
    order = np.argsort(lengths, kind="stable")
    for length, i, k in zip(lengths[order].tolist(), rows[order].tolist(), columns[order].tolist(), strict=True):
        yield length, i, k, near[i] & near[k]
        near[i] |= 1 << k
        near[k] |= 1 << i


def _remaining_components(link: Nodes, tip: int, near: list[Nodes]) -> Iterator[int]:
    """Yield one node from each connected component of the link, except the one that contains the tip."""
    reached = link & near[tip] | 1 << tip
    rest = link ^ reached
    while rest:
        start = rest.bit_length() - 1
        part = front = 1 << start
        rest ^= front
        while front:
            node = front.bit_length() - 1
            front ^= 1 << node
            if near[node] & reached:
                break
            new = near[node] & rest
            rest ^= new
            front |= new
            part |= new
        else:
            yield start
        # A separate component has no other neighbours left, so marking it as reached connects nothing to the tip.
        reached |= part


def _extend_basis(basis: Basis, chain: Chain) -> Chain:
    """Reduce the chain by the basis, then add and return the remainder; zero if the chain is dependent."""
    while chain:
        youngest = chain.bit_length()
        if youngest not in basis:
            basis[youngest] = chain
            break
        chain ^= basis[youngest]
    return chain


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
