"""Scores under permutations: each view is built once, and its rows are permuted for each draw."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from shesha.inputs import validation as check
from shesha.kernels.condensed_matrices import permutation_grids
from shesha.kernels.distances import n_pairs
from shesha.kernels.threads import parallel, single_threaded_blas
from shesha.measures import Measure
from shesha.nulls.permutations import identity_first
from shesha.support import memory
from shesha.support.device_arrays import to_host
from shesha.support.types import Index, Matrix
from shesha.support.warnings import NotEstimable
from shesha.views import Adjusted, Gram, IncompleteRdm, PartialRdm, RankedRdm, Refitted, Representation, Symmetric, View

Result = TypeVar("Result")
Outcome = float | Exception
"""A score, or the error that explains a missing score."""
_GATHER = 15
"""Number of feature pairs per row up to which multiplying features is faster than gathering triangles."""
_AT_ONCE = 8
"""Number of draws that a thread computes per task, because scheduling may take longer than one draw."""
_SHORT = 2e-3
"""Time in seconds for `_AT_ONCE` draws below which threads do not save time."""


_PER_DRAW = 4
"""Memory of a draw, relative to the memory of the views whose rows it permutes."""


@dataclass(frozen=True)
class KnownProduct:
    """A stand-in for two views, for measures that need only the views' known inner product."""

    value: Any

    def inner(self, other: object) -> Any:
        """Return the known inner product."""
        return self.value


def grids(measure: Measure, rows: Sequence[View], columns: Sequence[View], orders: Sequence[Index]) -> Iterator[Matrix]:
    """For each permutation, yield the scores of every row view with every permuted column view."""
    if _uses_products(measure, rows, columns):
        totals = _products(rows, columns, orders)
        return (np.asarray(_scores_from_products(measure, total), dtype=np.float64) for total in totals)
    return _score_each_pair(measure, rows, columns, orders)


def shared(measures: Sequence[Measure], a: View, b: View) -> list[list[Measure]]:
    """Group measures of the same view that should be computed in one pass over the draws."""
    products = [measure for measure in measures if _uses_products(measure, [a], [b])]
    others = [measure for measure in measures if measure not in products]
    return [group for group in (products, others) if group]


def side_by_side(measures: Sequence[Measure], a: View, b: View, orders: Sequence[Index]) -> Iterator[list[Outcome]]:
    """Yield the observed scores of measures grouped by `shared`, then their scores for each permutation.

    Results that several measures need are computed once. If a measure fails, its error replaces its score.
    """
    orders = identity_first(orders)
    if _uses_products(measures[0], [a], [b]):
        for total in _products([a], [b], orders):
            yield [_outcome(lambda m=m, t=total: float(_scores_from_products(m, t)[0, 0])) for m in measures]  # type: ignore[misc]
        return

    def scores(order: Index) -> list[Outcome]:
        moved = b.permute(order)
        return [_outcome(lambda m=measure: _score(m, a, moved)) for measure in measures]  # type: ignore[misc]

    yield from _map_orders(scores, orders, _draws_at_once([b]))


def _outcome(score: Callable[[], float]) -> Outcome:
    try:
        return score()
    except Exception as error:  # One measure's failure must not stop the others.
        return error


def _uses_products(measure: Measure, rows: Sequence[View], columns: Sequence[View]) -> bool:
    complete = not any(isinstance(view, IncompleteRdm) for view in (*rows, *columns))
    return measure.inner_product and complete and _gathers(rows[0], columns[0]) and _fits_memory(rows, columns)


def reduce_view(view: View) -> View:
    """Keep only the part of a kernel matrix that permutations need, because the features take more memory."""
    if isinstance(view, Gram) and view.factor is not None and _gathers(view, view):
        return view.dense()
    return view


def reduced_view_bytes(kind: type[View], n: int, d: int, kept: int) -> int:
    """Return the bytes that a view of n x d features needs after it is reduced."""
    return min(kept, 8 * n_pairs(n)) if kind is Gram and d * d >= _GATHER * n else kept


def _gathers(a: View, b: View) -> bool:
    """Return whether gathering triangles is faster than multiplying features; not so for few features."""
    if isinstance(a, Gram) and isinstance(b, Gram) and a.factor is not None and b.factor is not None:
        return bool(a.factor.shape[1] * b.factor.shape[1] >= _GATHER * a.n_rows)
    # Scores of a PartialRdm need more than gathered entries.
    return all(isinstance(side, Gram | RankedRdm) and not isinstance(side, PartialRdm) for side in (a, b))


def null_view(measure: Measure, side: Representation, view: View) -> View:
    """Return the view to permute; if covariates must be removed anew for each draw, a view that does so."""
    if isinstance(side, Adjusted) and not isinstance(view, PartialRdm):
        return Refitted(side, measure.look)
    return view


def _fits_memory(rows: Sequence[View], columns: Sequence[View]) -> bool:
    n: int = rows[0].n_rows  # type: ignore[attr-defined]
    # This is the memory of the triangles and their copies; the columns' copies are full square matrices.
    return bool(8 * n * n * (len(rows) + 1.5 * len(columns)) <= memory.memory_budget())


def _products(rows: Sequence[View], columns: Sequence[View], orders: Sequence[Index]) -> Iterator[Matrix]:
    """For each permutation, yield the inner products of every row view with every permuted column view."""
    row_views, right = ([_symmetric(view) for view in side] for side in (rows, columns))
    n: int = rows[0].n_rows  # type: ignore[attr-defined]
    triangles = permutation_grids([view.triangle for view in row_views], [view.triangle for view in right], n, orders)
    weight = row_views[0].weight
    row_diagonals, other = (_diagonals(side) for side in (row_views, right))
    for order, products in zip(orders, triangles, strict=True):
        total = weight * products
        if row_diagonals is not None and other is not None:
            total += row_diagonals @ other[:, order].T
        yield total


def _scores_from_products(measure: Measure, total: Matrix) -> Any:
    both = KnownProduct(total)
    return measure.function(both, both, **measure.parameters)


def _diagonals(side: Sequence[Symmetric]) -> Matrix | None:
    diagonals = [to_host(view.diagonal) for view in side if view.diagonal is not None]
    return np.stack(diagonals) if diagonals else None


def _symmetric(view: View) -> Symmetric:
    symmetric: Symmetric = view.symmetric()  # type: ignore[attr-defined]
    return symmetric


def _score_each_pair(
    measure: Measure, rows: Sequence[View], columns: Sequence[View], orders: Sequence[Index]
) -> Iterator[Matrix]:
    def grid(order: Index) -> Matrix:
        moved = [view.permute(order) for view in columns]
        return np.array([[_score(measure, a, b) for b in moved] for a in rows])

    return _map_orders(grid, orders, _draws_at_once(columns))


def _draws_at_once(views: Sequence[View]) -> int:
    """Return how many draws fit in memory together; each draw permutes the views and works on them."""
    arrays = [
        part
        for view in views
        for value in vars(view).values()
        for part in (value if isinstance(value, tuple) else (value,))
    ]
    per_draw = _PER_DRAW * sum(getattr(array, "nbytes", 0) for array in arrays)
    return max(1, memory.memory_budget() // max(1, per_draw))


def _map_orders(work: Callable[[Index], Result], orders: Sequence[Index], at_once: int) -> Iterator[Result]:
    """Apply `work` to each permutation and yield the results in order; use threads unless draws are short."""

    def some(start: int) -> list[Result]:
        return [work(order) for order in orders[start : start + _AT_ONCE]]

    rest = range(_AT_ONCE, len(orders), _AT_ONCE)
    with single_threaded_blas():
        start = time.perf_counter()
        first = some(0)
        short = time.perf_counter() - start < _SHORT
        yield from first
        for result in map(some, rest) if short else parallel(some, rest, at_once=at_once):
            yield from result


def _score(measure: Measure, a: View, b: View) -> float:
    try:
        return measure.compare_views(a, b)
    except NotEstimable:
        return float("nan")


class DrawError(RuntimeError):
    """Raised if a user function fails; the message names the draw, and `__cause__` is the original error."""


def function_scores(
    function: Callable[[Any, Any], float], X: Sequence[Any], Y: Sequence[Any], orders: Sequence[Index]
) -> Iterator[Matrix]:
    """For each permutation, yield the function's values for every X with every Y whose rows are permuted."""
    for draw, order in enumerate(orders):
        # A user function gets copies, because it may change its arguments.
        moved = [y[order] for y in Y]
        copies = [x.clone() if hasattr(x, "clone") else x.copy() for x in X]
        try:
            values = [[check.real_number(function(x, y), "its value") for y in moved] for x in copies]
        except Exception as error:
            where = "the observed pairing" if draw == 0 else f"draw {draw} of {len(orders) - 1}"
            raise DrawError(f"the measure failed in {where}: {type(error).__name__}: {error}") from error
        yield np.array(values)


def null_scores(measure: Measure, a: View, b: View, orders: Sequence[Index]) -> Iterator[Matrix]:
    """Yield the observed score, then the score of each permutation, as 1 x 1 grids."""
    return grids(measure, [a], [b], identity_first(orders))


def observed_score(measure: Measure, a: View, b: View) -> float:
    """Return the score of the observed pairing, or raise NotEstimable with the reason."""
    with single_threaded_blas():
        return measure.compare_views(a, b)
