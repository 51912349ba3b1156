"""Scores under permutations: data are checked, each view is built once, and its rows are permuted for each draw."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from shesha.inputs import validation as check
from shesha.kernels.condensed_matrices import permutation_grids
from shesha.kernels.distances import n_pairs
from shesha.kernels.threads import parallel, single_threaded_blas
from shesha.measures import Measure, as_measure, get
from shesha.measures.lookup import PlainMeasure
from shesha.measures.registry import Choice, Data
from shesha.nulls.permutations import Design, identity_first, nonempty_arguments
from shesha.nulls.restricted_permutations import Exchange
from shesha.support import memory
from shesha.support.device_arrays import convert_like, to_host
from shesha.support.memory import memory_budget, require
from shesha.support.types import Index, Matrix, Seed
from shesha.support.warnings import MeasureWarning, NotEstimable, warn
from shesha.views import (
    Adjusted,
    Basis,
    Covariates,
    Gram,
    IncompleteRdm,
    PartialRdm,
    RankedRdm,
    Refitted,
    Representation,
    Symmetric,
    View,
    adjust_for_covariates,
    align_rows,
    aligned,
    hint_of_distances,
)

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

    yield from map_orders(scores, orders, _draws_at_once([b]))


def _outcome(score: Callable[[], float]) -> Outcome:
    try:
        return score()
    except Exception as error:  # One measure's failure must not stop the others.
        return error


def _uses_products(measure: Measure, rows: Sequence[View], columns: Sequence[View]) -> bool:
    complete = not any(isinstance(view, IncompleteRdm) for view in (*rows, *columns))
    return measure.inner_product and complete and _gathers(rows[0], columns[0]) and _fits_memory(rows, columns)


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
    row_views, right = ([view.symmetric() for view in side] for side in (rows, columns))  # type: ignore[attr-defined]
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


def _score_each_pair(
    measure: Measure, rows: Sequence[View], columns: Sequence[View], orders: Sequence[Index]
) -> Iterator[Matrix]:
    def grid(order: Index) -> Matrix:
        moved = [view.permute(order) for view in columns]
        return np.array([[_score(measure, a, b) for b in moved] for a in rows])

    return map_orders(grid, orders, _draws_at_once(columns))


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


def map_orders(work: Callable[[Index], Result], orders: Sequence[Index], at_once: int) -> Iterator[Result]:
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


TOGETHER = 2**29
"""Size in bytes of the largest view below which all views are computed in parallel, one per thread."""


@dataclass(frozen=True)
class CalibratedPair:
    """What is calibrated: the measure's name and direction, and the scores of the data under permutations."""

    name: str
    closer: str
    bounds: tuple[float, float]
    n_rows: int
    sides: tuple[Representation, ...]
    scores: Callable[[list[Index]], Iterator[Matrix]]
    covariates: Covariates | None = None
    """The covariates that were removed from both sides."""
    measure: Measure | None = None
    """The measure, if it is one of the library and is computed from all features."""
    without: Callable[[Index], float] | None = None
    """Function that scores some of the rows; None for user functions, and if covariates were removed."""


def prepare(
    X: Data,
    Y: Data,
    measure: Choice,
    options: dict[str, Any],
    *,
    truncate: int | float | None = None,
    seed: Seed = None,
    covariates: Any = None,
) -> CalibratedPair:
    """Check the data; views are computed only when scores are requested, and only once."""
    requested = as_measure(measure)
    hint_of_distances({"X": X, "Y": Y})
    if covariates is not None:
        _require_adjustable(requested, truncate)
    if isinstance(requested, PlainMeasure):
        return _function_subject(X, Y, requested, options, truncate)
    chosen = prepare_measure(requested, options, truncate=truncate, seed=seed)
    named = align_rows({"X": Representation.build(X, "X"), "Y": Representation.build(Y, "Y")})
    inputs = named["X"], named["Y"]
    require_inputs_as_rows(chosen, *inputs)
    if inputs[0].n_rows != inputs[1].n_rows and covariates is not None:
        raise ValueError(f"Y must have as many rows as X ({inputs[0].n_rows}), got {inputs[1].n_rows}")
    sides, known = adjust_for_covariates(list(inputs), covariates)
    a, b = aligned(sides[0], sides[1], chosen.view.folding, anywhere=chosen.anywhere)

    def scores(orders: list[Index]) -> Iterator[Matrix]:
        chosen.require_comparable(a, b)
        views = make_views(chosen, [truncate_components(side, truncate) for side in (a, b)])
        # If the observed pairing has no score, this call raises an error with the reason.
        with single_threaded_blas():
            chosen.compare_views(*views)
        if remark := chosen.format_remark(*views):
            warn(f"{chosen.name}: {remark}", MeasureWarning)
        return grids(chosen, views[:1], [null_view(chosen, b, views[1])], orders)

    if a.n_rows != b.n_rows:
        raise ValueError(f"Y must have as many rows as X ({a.n_rows}), got {b.n_rows}")

    def without(rows: Index) -> float:
        first, second = (side.take_rows(rows) for side in sides)
        few = prepare(first, second, measure, options, truncate=truncate, seed=seed)
        return float(next(iter(few.scores([np.arange(len(rows))])))[0, 0])

    return CalibratedPair(
        chosen.name,
        chosen.closer,
        chosen.bounds,
        n_rows=a.n_rows,
        sides=tuple(sides),
        scores=scores,
        covariates=known,
        measure=chosen if truncate is None else None,
        without=without if covariates is None else None,
    )


def _require_adjustable(measure: Measure | PlainMeasure, truncate: int | float | None) -> None:
    if isinstance(measure, PlainMeasure):
        raise ValueError(
            f"covariates need a measure of the library, got the function {measure.name}: pass residuals to "
            "the function, and permute within strata of the covariates (within=)"
        )
    if truncate is not None:
        raise ValueError(f"truncate must be None with covariates, got {truncate!r}")


def covariate_design(
    design: Design, permutations: ArrayLike | None, covariates: Covariates | None
) -> Design | Exchange:
    """Return the requested design; if it has at most blocks, permute rows with similar covariates."""
    if covariates is None or permutations is not None or set(nonempty_arguments(design)) - {"blocks"}:
        return design
    return covariates.design(design.get("blocks"))


def require_inputs_as_rows(measure: Measure, *sides: Representation) -> None:
    """Refuse data whose rows are tokens or positions, which are not exchangeable between inputs."""
    kinds = {len(side.shape) for side in sides}
    if kinds == {3} or (kinds == {4} and measure.view.folding == "rows"):
        raise ValueError(
            f"X and Y must have one row per input to be calibrated by {measure.name}, got tokens or positions: average "
            "over them first"
        )


def prepare_measure(
    measure: Choice, options: dict[str, Any], *, truncate: int | float | None = None, seed: Seed = None
) -> Measure:
    """Return the measure with its options; refuse measures that have no permutation null."""
    chosen = get(measure).with_options(**options).with_seed(seed)
    if truncate is not None and "orthogonal" not in chosen.invariant:
        raise ValueError(
            f"truncate needs a measure that is invariant to rotations, got {chosen.name}: components have arbitrary "
            "signs"
        )
    if not chosen.paired:
        raise ValueError(
            f"measure must depend on the matching of rows, got {chosen.name}: permuting rows does not change the "
            "value, so there is no permutation null"
        )
    return chosen


def make_views(measure: Measure, sides: list[Representation], *, keep: bool = True) -> list[View]:
    """Compute the view of each side once, in parallel if the views are small.

    With `keep`, intermediate results stay in memory for other measures if everything fits the memory budget.
    """
    needs = [measure.view_bytes(side) for side in sides]
    largest, working = max(map(sum, needs)), max(working for _, working in needs)
    keeps = keep and sum(view_bytes for view_bytes, _ in needs) + working <= memory_budget()
    if not keeps:
        what = f"the null of {measure.name} for {sides[0].n_rows:,} rows"
        require(null_bytes(measure, sides), what, "pass fewer rows or features")

    def look(side: Representation) -> View:
        view = measure.look(side)
        if keeps:
            return view
        side.drop_views()
        if isinstance(view, Gram) and view.factor is not None and _gathers(view, view):
            # Permutations need only the entries of a kernel matrix, and the features take more memory.
            return view.dense()
        return view

    if largest < TOGETHER:
        return list(parallel(look, sides, at_once=max(1, memory_budget() // max(1, 2 * largest))))
    with single_threaded_blas():
        return [look(side) for side in sides]


def null_bytes(measure: Measure, sides: Sequence[Representation]) -> int:
    """Return the memory that the views of both sides need at least, in the form that permutations need."""
    kind, needs = measure.view_key[0], [measure.view_bytes(side) for side in sides]

    def stored_bytes(side: Representation, view_bytes: int) -> int:
        n, d = side.size(kind.folding)
        return min(view_bytes, 8 * n_pairs(n)) if kind is Gram and d * d >= _GATHER * n else view_bytes

    light = [stored_bytes(side, view_bytes) for side, (view_bytes, _) in zip(sides, needs, strict=True)]
    # Every view is stored in reduced form, except the one that is being computed.
    making = [view_bytes + working - less for (view_bytes, working), less in zip(needs, light, strict=True)]
    return sum(light) + max(making, default=0)


def _function_subject(
    X: Any, Y: Any, measure: PlainMeasure, options: dict[str, Any], truncate: int | float | None
) -> CalibratedPair:
    inputs = {"X": X, "Y": Y}
    sides = tuple(align_rows({name: Representation.build(side, name) for name, side in inputs.items()}).values())
    x, y = function_arguments(inputs, sides, truncate)
    if len(x) != len(y):
        raise ValueError(f"Y must have as many rows as X ({len(x)}), got {len(y)}")

    def scores(orders: list[Index]) -> Iterator[Matrix]:
        return function_scores(lambda p, q: measure.function(p, q, **options), [x], [y], orders)

    return CalibratedPair(measure.name, measure.closer, measure.bounds, len(x), sides=sides, scores=scores)


def function_arguments(
    given: Mapping[str, Any], sources: Sequence[Representation], truncate: int | float | None
) -> list[Any]:
    """Return checked data for a user function: tensors if all inputs are tensors, otherwise NumPy arrays."""
    tensors = all(hasattr(side, "detach") for side in given.values())
    arguments = []
    for (name, side), source in zip(given.items(), sources, strict=True):
        if source.has_distances_only:
            raise ValueError(f"{name} must be features for your own function, got distances between rows")
        if len(source.shape) != 2:
            raise ValueError(f"{name} must be 2-D (n_samples, n_features), got shape {source.shape}")
        if tensors and truncate is None:
            arguments.append(side)
            continue
        rows = truncate_components(source, truncate).to_numpy.rows
        arguments.append(convert_like(rows, side) if tensors else rows)
    return arguments


def truncate_components(source: Representation, truncate: int | float | None) -> Representation:
    """Return the leading principal components of the data, or all features if `truncate` is None."""
    if truncate is None:
        return source
    with single_threaded_blas():
        basis = source.view(Basis)
    if isinstance(truncate, int | np.integer) and not isinstance(truncate, bool):
        n_components = check.count(truncate, "truncate")
    else:
        n_components = basis.components_for(check.fraction(truncate, "truncate"))
    basis = basis.truncated(n_components)
    scaled = basis.directions * convert_like(basis.singular_values * basis.unit, basis.directions)
    return Representation(scaled, source.precision)
