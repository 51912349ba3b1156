"""Kernel alignment restricted to nearest neighbours (CKNNA)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import sqrt
from typing import Literal, cast

import numpy as np

from shesha.inputs import validation as check
from shesha.measures.neighbours import FAMILY
from shesha.measures.registry import measure
from shesha.support.types import Index, Vector
from shesha.support.warnings import NotEstimable
from shesha.views import Neighbours


@dataclass(frozen=True)
class _Edges:
    """A sparse square matrix, with the entry `values[e]` at row `rows[e]` and column `columns[e]`."""

    n: int
    rows: Index
    columns: Index
    values: Vector

    def off_diagonal(self) -> _Edges:
        kept = self.rows != self.columns
        return _Edges(self.n, self.rows[kept], self.columns[kept], self.values[kept])

    def margins(self) -> tuple[Vector, Vector]:
        return _sums(self.rows, self.values, self.n), _sums(self.columns, self.values, self.n)

    def total(self) -> float:
        return float(np.add.reduce(self.values))


def _sums(places: Index, values: Vector, n: int) -> Vector:
    return cast(Vector, np.bincount(places, values, n))


def _edges(side: Neighbours) -> _Edges:
    rows = np.repeat(np.arange(side.n_rows), side.k)
    return _Edges(side.n_rows, rows, side.nearest.ravel(), side.products().ravel())


def _size(multiply: Callable[[_Edges, _Edges], float], side: Neighbours) -> float:
    edges = _edges(side)
    return multiply(edges, edges)


def _shared(a: Neighbours, b: Neighbours) -> tuple[_Edges, _Edges]:
    """Restrict both matrices to the edges that they have in common."""
    n, ranks = a.n_rows, b.ranks_of_neighbours(a).T.ravel()
    # Searching booleans is several times faster than searching numbers.
    places = (ranks != 0).nonzero()[0]
    rows, columns = places % n, a.rank_major_lists.ravel()[places]
    of_a = a.products_with_rank(rows, places // n + 1)
    of_b = b.products_with_rank(rows, ranks[places].astype(np.intp))
    return _Edges(n, rows, columns, of_a), _Edges(n, rows, columns, of_b)


def _frobenius(a: _Edges, b: _Edges) -> float:
    """<H A H, H B H> for two matrices with the same edges, computed from their sums."""
    (rows_a, columns_a), (rows_b, columns_b) = a.margins(), b.margins()
    margins = (rows_a.dot(rows_b) + columns_a.dot(columns_b)) / a.n
    return float(a.values.dot(b.values) - margins + a.total() * b.total() / a.n**2)


def _trace(a: _Edges, b: _Edges) -> float:
    """tr(A H B H), which equals `_frobenius` only for symmetric matrices; neighbour masks are asymmetric."""
    (rows_a, columns_a), (rows_b, columns_b) = a.margins(), b.margins()
    margins = (columns_a.dot(rows_b) + columns_b.dot(rows_a)) / a.n
    return float(_transpose_product(a, b) - margins + a.total() * b.total() / a.n**2)


def _u_statistic(a: _Edges, b: _Edges) -> float:
    """U-statistic (Song et al. 2012) that leaves out the diagonal and replaces the trace."""
    n, a, b = a.n, a.off_diagonal(), b.off_diagonal()
    shared = a.margins()[1].dot(b.margins()[0])
    total = a.total() * b.total() / ((n - 1) * (n - 2))
    return float(_transpose_product(a, b) + total - 2 * shared / (n - 2))


def _transpose_product(a: _Edges, b: _Edges) -> float:
    """tr(A B): sum over (i, j) of the products of entry (i, j) of A with entry (j, i) of B."""
    codes = [a.rows * a.n + a.columns, b.columns * b.n + b.rows]
    _, at_a, at_b = np.intersect1d(codes[0], codes[1], assume_unique=True, return_indices=True)
    return float(a.values[at_a].dot(b.values[at_b]))


Product = Literal["frobenius", "trace", "unbiased"]
_PRODUCTS = {"frobenius": _frobenius, "trace": _trace, "unbiased": _u_statistic}


@measure(
    "CKNNA",
    view=Neighbours,
    closer="higher",
    bounds=(-1, 1),
    symmetric=True,
    invariant=("orthogonal", "scaling", "translation"),
    family=FAMILY,
    cost="n^2 d",
    formula="<H(A.K_X)H, H(A.K_Y)H> / (||H(M_X.K_X)H|| ||H(M_Y.K_Y)H||), M the neighbour masks, A = M_X.M_Y",
    reference="Huh et al. 2024",
    caveats=(
        "Unrelated data do not score 0 on average. Calibrate the score.",
        "Rows with large norms have more influence, as neighbours and as weights.",
    ),
    self_value=1.0,
    needs_features=True,
    view_options={"metric": "dot"},
    anywhere=True,
)
def cknna(
    a: Neighbours,
    b: Neighbours,
    *,
    k: int = 10,
    center: bool = True,
    include_self: bool = False,
    product: Product = "frobenius",
) -> float:
    """CKA of the inner products between rows that are neighbours in both representations.

    The calibration study's code differs from its definition in three ways, each of which is an option. It does not
    centre the columns, so that a common offset makes the score 0. It counts each row among its own neighbours. It
    computes tr(K H L H), which is an inner product only for symmetric matrices. `center=False, include_self=True,
    product="trace"` gives the value of that code. `center=False, product="unbiased"` gives the value of Huh et al.

    Parameters
    ----------
    k : int
        Number of neighbours (the rows with the largest inner products), below the number of rows.
    center : bool
        Whether to subtract column means first.
    include_self : bool
        Whether a row can be its own neighbour.
    product : {'frobenius', 'trace', 'unbiased'}
        Product of the masked matrices: inner product, trace of the matrix product, or U-statistic.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((50, 8))
    >>> round(cknna(X, 3 * X[:, ::-1] + 1), 6)
    1.0
    """
    check.choice(product, tuple(_PRODUCTS), "product")
    multiply = _PRODUCTS[product]
    sizes = [side.invariant(product, partial(_size, multiply)) for side in (a, b)]
    if not (sizes[0] > 0 and sizes[1] > 0):
        raise NotEstimable("the inner products of neighbours have no positive variance")
    return min(1.0, max(-1.0, multiply(*_shared(a, b)) / sqrt(sizes[0] * sizes[1])))
