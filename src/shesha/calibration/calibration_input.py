"""Check the data for a calibration, and score them under permutations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from shesha.calibration import permutation_scores as null_kernel
from shesha.inputs import validation as check
from shesha.kernels.threads import parallel, single_threaded_blas
from shesha.measures import Measure, as_measure, get
from shesha.measures._lookup import PlainMeasure
from shesha.measures.registry import Choice, Data
from shesha.nulls.permutations import Design, nonempty_arguments
from shesha.nulls.restricted_permutations import Exchange
from shesha.support.device_arrays import convert_like
from shesha.support.memory import memory_budget, require
from shesha.support.types import Index, Matrix, Seed
from shesha.support.warnings import MeasureWarning, warn
from shesha.views import (
    Basis,
    Covariates,
    Representation,
    View,
    adjust_for_covariates,
    align_rows,
    aligned,
    hint_of_distances,
)

TOGETHER = 2**29
"""Size in bytes of the largest view below which all views are computed in parallel, one per thread."""


@dataclass(frozen=True)
class Subject:
    """What is calibrated: the measure's name and direction, and the scores of the data under permutations."""

    name: str
    closer: str
    bounds: tuple[float, float]
    n_rows: int
    sides: tuple[Representation, ...]
    scores: Callable[[list[Index]], Iterator[Matrix]]
    covariates: Covariates | None = None
    """The covariates that were removed from both sides."""


def prepare(
    X: Data,
    Y: Data,
    measure: Choice,
    options: dict[str, Any],
    *,
    truncate: int | float | None = None,
    seed: Seed = None,
    covariates: Any = None,
) -> Subject:
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
        null_kernel.observed_score(chosen, *views)
        if remark := chosen.format_remark(*views):
            warn(f"{chosen.name}: {remark}", MeasureWarning)
        return null_kernel.grids(chosen, views[:1], [null_kernel.null_view(chosen, b, views[1])], orders)

    if a.n_rows != b.n_rows:
        raise ValueError(f"Y must have as many rows as X ({a.n_rows}), got {b.n_rows}")
    return Subject(chosen.name, chosen.closer, chosen.bounds, a.n_rows, tuple(sides), scores, known)


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
    needs = [_view_bytes(measure, side) for side in sides]
    largest, working = max(map(sum, needs)), max(working for _, working in needs)
    keeps = keep and sum(view_bytes for view_bytes, _ in needs) + working <= memory_budget()
    if not keeps:
        _require_memory(measure, sides, needs)

    def look(side: Representation) -> View:
        view = measure.look(side)
        if keeps:
            return view
        side.drop_views()
        return null_kernel.reduce_view(view)

    if largest < TOGETHER:
        return list(parallel(look, sides, at_once=max(1, memory_budget() // max(1, largest))))
    with single_threaded_blas():
        return [look(side) for side in sides]


def _view_bytes(measure: Measure, side: Representation) -> tuple[int, int]:
    """Return the memory of the finished view, and the additional memory needed to compute it."""
    return measure.view_bytes(side)


def _require_memory(measure: Measure, sides: Sequence[Representation], needs: Sequence[tuple[int, int]]) -> None:
    """Refuse views that exceed the memory budget even in their reduced form."""
    kind = measure.view_key[0]
    light = [
        null_kernel.reduced_view_bytes(kind, *side.size(kind.folding), view_bytes)
        for side, (view_bytes, _) in zip(sides, needs, strict=True)
    ]
    # Every view is stored in reduced form, except the one that is being computed.
    making = max(view_bytes + working - less for (view_bytes, working), less in zip(needs, light, strict=True))
    require(
        sum(light) + making, f"the null of {measure.name} for {sides[0].n_rows:,} rows", "pass fewer rows or features"
    )


def _function_subject(
    X: Any, Y: Any, measure: PlainMeasure, options: dict[str, Any], truncate: int | float | None
) -> Subject:
    inputs = {"X": X, "Y": Y}
    sides = tuple(align_rows({name: Representation.build(side, name) for name, side in inputs.items()}).values())
    x, y = function_arguments(inputs, sides, truncate)
    if len(x) != len(y):
        raise ValueError(f"Y must have as many rows as X ({len(x)}), got {len(y)}")

    def scores(orders: list[Index]) -> Iterator[Matrix]:
        return null_kernel.function_scores(lambda p, q: measure.function(p, q, **options), [x], [y], orders)

    return Subject(measure.name, measure.closer, measure.bounds, len(x), sides, scores)


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
