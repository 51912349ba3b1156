"""Compare the best of many layer pairs with the best pair that chance would give."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from shesha.calibration import permutation_scores as null_kernel
from shesha.calibration.permutation_scores import (
    DrawError,
    function_arguments,
    make_views,
    prepare,
    prepare_measure,
    require_inputs_as_rows,
    truncate_components,
)
from shesha.calibration.single_pair import (
    collect,
    doubts_of_pair,
    leave_out_scorer,
    plain_options,
    warn_of_dependence,
    weigh_doubts,
)
from shesha.inputs import MissingRows, RowChoice, labels_in_order
from shesha.inputs import validation as check
from shesha.measures import Measure, as_measure
from shesha.measures.lookup import PlainMeasure
from shesha.measures.registry import Choice
from shesha.nulls.null_summary import best_value, max_statistic_p_values, require_attainable_maximum, summarise
from shesha.nulls.permutations import Design, draw_permutations, identity_first
from shesha.results import CalibratedLayers, Dependence, Doubts
from shesha.support.draw_counts import N_PERMUTATIONS
from shesha.support.layer_axis import LayerAxis, layer_sequence
from shesha.support.natural_order import layers_by_depth
from shesha.support.provenance import keep_statements
from shesha.support.seeds import number
from shesha.support.types import Index, Matrix, Seed, Vector
from shesha.support.warnings import NotEstimable
from shesha.views import (
    Rdm,
    Representation,
    check_named_arrays,
    layers_in_one_order,
    move_to_one_device,
    select_layer_rows,
)

Aggregate = str | Callable[[Matrix], float]

TOP = 10
"""Number of pairs that 'top_k' averages."""


def _maximum(grid: Matrix) -> float:
    return float(grid.max())


def _row_maximum(grid: Matrix) -> float:
    return float(grid.max(axis=1).mean())


def _mean_of_largest(grid: Matrix) -> float:
    k = min(TOP, grid.size)
    return float(np.partition(grid, grid.size - k, axis=None)[grid.size - k :].mean())


def _mean(grid: Matrix) -> float:
    return float(grid.mean())


AGGREGATES: dict[str, Callable[[Matrix], float]] = {
    "max": _maximum,
    "row_max": _row_maximum,
    "top_k": _mean_of_largest,
    "mean": _mean,
}


def reducer(aggregate: Aggregate, closer: str) -> Callable[[Matrix], float]:
    """Return the function that computes an aggregate; named aggregates adapt to the measure's direction."""
    if isinstance(aggregate, str):
        check.choice(aggregate, tuple(AGGREGATES), "aggregate")
        reduce = AGGREGATES[aggregate]
        return reduce if closer == "higher" else lambda grid: -reduce(-grid)
    if not callable(aggregate):
        raise TypeError(f"aggregate must be a name or a function of the grid, got {aggregate!r}")
    return lambda grid: aggregate(grid.copy())


def totals(reduce: Callable[[Matrix], float], grids: Matrix) -> Vector:
    """Return the aggregate of each grid, starting with the observed one; NaN if a grid lacks a score."""
    values = np.array([_total(reduce, grid, draw) for draw, grid in enumerate(grids)])
    if np.isnan(values[0]):
        raise ValueError("aggregate must return a number for the observed grid, got NaN")
    return values


def _total(reduce: Callable[[Matrix], float], grid: Matrix, draw: int) -> float:
    if np.isnan(grid).any():
        return float("nan")
    try:
        value = reduce(grid)
    except Exception as error:
        where = "the observed grid" if draw == 0 else f"the grid of draw {draw}"
        raise DrawError(f"aggregate failed for {where}: {type(error).__name__}: {error}") from error
    if np.ndim(value) != 0:
        raise ValueError(f"aggregate must return one number for a grid, got an array of shape {np.shape(value)}")
    return check.real_number(value, "what aggregate returns")


def best_total(reduced: Vector, closer: str, bounds: tuple[float, float], maximum: float | None) -> float | None:
    """Return the best possible value of the aggregate; none if values outside the measure's bounds occur."""
    low, high = bounds
    known = reduced[~np.isnan(reduced)]
    on_scale = bool(((known >= low) & (known <= high)).all())
    return best_value(closer, bounds if on_scale else (-np.inf, np.inf), maximum)


def grid_scores(
    rows: dict[str, Representation],
    columns: dict[str, Representation],
    given: dict[str, Mapping[Any, Any]],
    measure: Choice,
    options: dict[str, Any],
    truncate: int | float | None,
    seed: Seed,
    orders: list[Index],
) -> tuple[Measure, Iterator[Matrix]]:
    """Return the measure and an iterator over score grids, one per permutation of the second model's rows.

    Parameters
    ----------
    rows, columns : dict of str to Representation
        The layers of both models.
    given : dict of str to mapping
        The layers as the user passed them, by argument name. A user function receives these objects.
    measure, options, truncate, seed
        As for `calibrate_layers`.
    orders : list of permutations of the rows

    Raises
    ------
    ValueError
        If a layer is not suitable for the measure. The message names the layer.
    """
    requested = as_measure(measure)
    if isinstance(requested, PlainMeasure):
        raw = {f"{side}[{place!r}]": layer for side, layers in given.items() for place, layer in layers.items()}
        arrays = function_arguments(raw, [*rows.values(), *columns.values()], truncate)
        x, y = arrays[: len(rows)], arrays[len(rows) :]
        function_grids = null_kernel.function_scores(lambda p, q: requested.function(p, q, **options), x, y, orders)
        return requested, function_grids
    chosen = prepare_measure(requested, options, truncate=truncate, seed=seed)
    require_inputs_as_rows(chosen, *rows.values(), *columns.values())
    layers = move_to_one_device([*rows.values(), *columns.values()], anywhere=chosen.anywhere)
    sides = layers[: len(rows)], layers[len(rows) :]
    parts = _parts(*sides)
    scores = [_part_scores(chosen, sides, part, truncate, orders, [*rows, *columns]) for part in parts]
    return chosen, _assemble_grid(scores, parts, (len(rows), len(columns)))


@dataclass(frozen=True)
class _Part:
    """Pairs of layers whose feature maps are pooled to the same grid; `grid` is None if there are no maps."""

    grid: tuple[int, int] | None
    pairs: tuple[tuple[int, int], ...]

    @property
    def rows(self) -> list[int]:
        return sorted({i for i, _ in self.pairs})

    @property
    def columns(self) -> list[int]:
        return sorted({j for _, j in self.pairs})


def _parts(rows: list[Representation], columns: list[Representation]) -> list[_Part]:
    """Group the pairs by the size to which their feature maps are pooled."""
    pairs_by_grid: dict[tuple[int, int] | None, list[tuple[int, int]]] = {}
    for i, a in enumerate(rows):
        for j, b in enumerate(columns):
            maps = [layer.shape for layer in (a, b) if len(layer.shape) == 4]
            grid = (min(s[2] for s in maps), min(s[3] for s in maps)) if maps else None
            pairs_by_grid.setdefault(grid, []).append((i, j))
    return [_Part(grid, tuple(pairs)) for grid, pairs in pairs_by_grid.items()]


def _part_scores(
    measure: Measure,
    sides: tuple[list[Representation], list[Representation]],
    part: _Part,
    truncate: int | float | None,
    orders: list[Index],
    names: list[str],
) -> Iterator[Matrix]:
    part_rows, others = part.rows, [len(sides[0]) + k for k in part.columns]
    layers = [*sides[0], *sides[1]]

    folded = [layers[k].fold("columns", part.grid) for k in (*part_rows, *others)]
    try:
        chosen = [truncate_components(layer, truncate) for layer in folded]
        rows, columns = chosen[: len(part_rows)], chosen[len(part_rows) :]
        for a in rows:
            for b in columns:
                measure.require_comparable(a, b)
        views = [make_views(measure, side, keep=False) for side in (rows, columns)]
    except NotEstimable as reason:
        culprit = _culprit(measure, folded, [names[k] for k in (*part_rows, *others)])
        raise ValueError(f"every layer must be suitable for {measure.name}, got {culprit}{reason}") from None
    return null_kernel.grids(measure, views[0], views[1], orders)


def _culprit(measure: Measure, layers: list[Representation], names: list[str]) -> str:
    """Name the first layer for which the view cannot be computed, if a single layer is at fault."""
    for name, layer in zip(names, layers, strict=True):
        try:
            measure.look(layer)
        except NotEstimable:
            return f"layer {name}: "
    return ""


def _assemble_grid(scores: list[Iterator[Matrix]], parts: list[_Part], shape: tuple[int, int]) -> Iterator[Matrix]:
    for drawn_parts in zip(*scores, strict=True):
        full_grid = np.full(shape, np.nan)
        for part, grid in zip(parts, drawn_parts, strict=True):
            row, column = ({k: position for position, k in enumerate(which)} for which in (part.rows, part.columns))
            for i, j in part.pairs:
                full_grid[i, j] = grid[row[i], column[j]]
        yield full_grid


Layers = Mapping[str, ArrayLike | Rdm] | Sequence[ArrayLike | Rdm]


@keep_statements
def calibrate_layers(
    layers_a: Layers,
    layers_b: Layers,
    measure: Choice = "CKA",
    aggregate: Aggregate = "max",
    *,
    n_permutations: int = N_PERMUTATIONS,
    alpha: float = 0.05,
    maximum: float | None = None,
    blocks: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    within: ArrayLike | None = None,
    shift: bool = False,
    block_length: int | None = None,
    permutations: ArrayLike | None = None,
    truncate: int | float | None = None,
    rows: RowChoice = "same",
    missing: MissingRows = "refuse",
    seed: Seed = None,
    layer_axis: LayerAxis = "guess",
    **options: Any,
) -> CalibratedLayers:
    """Calibrate one summary of a grid of layer pairs, such as the score of its best pair.

    The maximum of many scores is high by chance alone, especially with many layers. Each draw therefore permutes the
    rows of one model, identically in all its layers, and summarises the resulting grid in the same way as the observed
    grid.

    Parameters
    ----------
    layers_a, layers_b : mappings of names to arrays, or sequences of arrays
        Layers of shape (n_samples, n_features), all computed from the same inputs. The layers of a model may also be
        one 3-D array.
    measure : str, Measure or function
        A measure, or your own f(X, Y) -> float, whose higher values must mean more similar.
    aggregate : {'max', 'row_max', 'top_k', 'mean'} or function
        Summary of the grid. 'max': the score of the closest pair. 'row_max': each layer of `layers_a` scored against
        its closest layer in `layers_b`, averaged over `layers_a`. 'top_k': the mean score of the 10 closest pairs.
        'mean': the mean score of all pairs. If the measure is a distance, the closest pair has the smallest value. Your
        own function takes the grid (layers_a x layers_b) and returns a number in the direction of the measure (for a
        distance, lower is closer).
    maximum : float, optional
        Value that the aggregate takes for perfect agreement. Default: the best value of the measure, or no maximum if
        your own aggregate returns values outside the measure's bounds.
    n_permutations, alpha, blocks, groups, within, shift, block_length, permutations, truncate, seed, **options
        As for `calibrate`.
    rows, missing
        As for `calibrate`.
    layer_axis
        As for `compare_layers`.

    Returns
    -------
    CalibratedLayers
        The aggregate with its threshold, p-value and calibrated score. The result also contains the best pair with its
        `doubts` (as in `calibrate`), and the grid with a p-value for each pair. To test whether any pair exceeds
        chance, use the p-value of the aggregate, not those of single pairs.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> a, b = ([rng.standard_normal((40, 6)) for _ in range(3)] for _ in range(2))
    >>> found = calibrate_layers(a, [*b, a[1] + rng.standard_normal((40, 6))], seed=0)
    >>> found.closest, found.significant
    (('1', '3'), True)
    """
    sides = {"layers_a": layers_a, "layers_b": layers_b}
    mappings = {side: layer_mapping(layer_sequence(layers, side, layer_axis), side) for side, layers in sides.items()}
    design = Design(blocks=blocks, groups=groups, within=within, shift=shift, block_length=block_length)
    used, along = select_layer_rows(mappings, design, rows=rows, missing=missing)
    mappings = dict(zip(sides, used, strict=True))
    first, second = layers_in_one_order(*(check_layers(layers, side) for side, layers in mappings.items()))
    n = _n_rows(first, second)
    design = cast(Design, labels_in_order((side.names for side in (*first.values(), *second.values())), along))
    orders, exchanged = draw_permutations(n, n_permutations, alpha, design=design, permutations=permutations, seed=seed)
    dependence = warn_of_dependence([_middle_layer(side) for side in (first, second)], design, permutations)
    measure_used, scores = grid_scores(
        first, second, mappings, measure, options, truncate, seed, identity_first(orders)
    )
    name, closer = measure_used.name, measure_used.closer
    reduce = reducer(aggregate, closer)
    grids, interrupted = collect(scores, len(orders) + 1)
    _require_scores(grids[0], list(first), list(second), name)
    reported = _summarise_totals(totals(reduce, grids), closer, alpha, measure_used.bounds, maximum)
    i, j = _closest_pair(grids[0], closer)
    best = list(first)[i], list(second)[j]
    doubts = _best_pair_doubts(
        (first[best[0]], second[best[1]]), grids[:, i, j], design, dependence, measure, options, truncate, seed
    )
    return CalibratedLayers(
        name=name,
        family=measure_used.family,
        closer=closer,
        aggregate=aggregate if isinstance(aggregate, str) else getattr(aggregate, "__name__", "function"),
        rows=tuple(first),
        columns=tuple(second),
        n_rows=n,
        exchanged=exchanged,
        seed=number(seed),
        interrupted=interrupted,
        options=plain_options(options, truncate),
        closest=best,
        grid=_as_tuples(grids[0]),
        entry_p_values=_as_tuples(_entrywise(grids if closer == "higher" else -grids)),
        corrected_p_values=_as_tuples(_correct_pairs(grids, closer)),
        doubts=doubts,
        **reported,
    )


def _middle_layer(layers: dict[str, Representation]) -> Representation:
    """Return one layer to stand for all layers of a model, which share the same rows in the same order."""
    return list(layers.values())[len(layers) // 2]


def _require_scores(grid: Matrix, rows: list[str], columns: list[str], measure: str) -> None:
    missing = [f"{rows[i]} and {columns[j]}" for i, j in zip(*np.nonzero(np.isnan(grid)), strict=True)]
    if missing:
        raise ValueError(
            f"every pair of layers must have a score to be calibrated, got no score of {measure} for "
            f"{check.join_items(missing)}"
        )


def _closest_pair(grid: Matrix, closer: str) -> tuple[int, int]:
    place = (grid if closer == "higher" else -grid).argmax()
    i, j = np.unravel_index(int(place), grid.shape)
    return int(i), int(j)


def _best_pair_doubts(
    sides: tuple[Representation, Representation],
    draws: Vector,
    design: Design,
    dependence: Dependence | None,
    measure: Choice,
    options: dict[str, Any],
    truncate: int | float | None,
    seed: Seed,
) -> Doubts:
    """Return the doubts about the best pair, based on this pair's observed score and null draws."""
    pair = prepare(*sides, measure, options, truncate=truncate, seed=seed)
    return weigh_doubts(
        doubts_of_pair(pair.sides, design, dependence, only_cheap=True),
        pair,
        float(draws[0]),
        *_moments(draws[1:]),
        best_value(pair.closer, pair.bounds, None),
        leave_out_scorer(pair, measure, options, truncate, seed),
    )


def _moments(null: Vector) -> tuple[float, float]:
    """Return the mean and standard deviation of the draws that have a score."""
    known = null[np.isfinite(null)]
    return (float(known.mean()), float(known.std(ddof=1))) if len(known) > 1 else (float("nan"), float("nan"))


def _summarise_totals(
    reduced: Vector, closer: str, alpha: float, bounds: tuple[float, float], maximum: float | None
) -> dict[str, Any]:
    """Compare the aggregate of the observed grid with those of the permuted grids."""
    best = best_total(reduced, closer, bounds, maximum)
    worth = summarise(float(reduced[0]), reduced[1:], closer, alpha, best)
    require_attainable_maximum(maximum, float(reduced[0]), worth.threshold, closer)
    return worth.evidence() | {"value": worth.value, "null": worth.null}


def _entrywise(grids: Matrix) -> Matrix:
    """Return a separate p-value for each pair; draws without a score count as extreme."""
    flat = grids.reshape(len(grids), -1)
    p_values = [summarise(column[0], column[1:], "higher", 0.5, None).p_value for column in flat.T]
    return np.reshape(p_values, grids.shape[1:])


def _correct_pairs(grids: Matrix, closer: str) -> Matrix:
    """Return a p-value for each pair, corrected for the number of pairs."""
    flat = grids.reshape(len(grids), -1)
    return max_statistic_p_values(list(flat.T), [closer] * flat.shape[1]).reshape(grids.shape[1:])


def _as_tuples(grid: Matrix) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(row) for row in grid.tolist())


def check_layers(layers: Layers, name: str) -> dict[str, Representation]:
    """Check the layers; those in a sequence are named by their position."""
    arrays = check_named_arrays(layer_mapping(layers, name), name, name + "[{!r}]")
    if not arrays:
        raise ValueError(f"{name} must contain at least one layer, got none")
    return arrays


def layer_mapping(layers: Layers, name: str) -> Mapping[Any, Any]:
    """Return the layers of a model by name or, if they are a sequence, by position."""
    if isinstance(layers, Mapping):
        return layers_by_depth(layers) if all(isinstance(layer, str) for layer in layers) else layers
    if (
        isinstance(layers, str | Rdm)
        or hasattr(layers, "columns")
        or not isinstance(layers, Iterable)
        or getattr(layers, "shape", None) == ()
    ):
        raise TypeError(
            f"{name} must be a mapping of names to arrays, or a sequence of arrays, got a {type(layers).__name__}"
        )
    return dict(enumerate(layers))


def _n_rows(rows: dict[str, Representation], columns: dict[str, Representation]) -> int:
    counts = {layer.n_rows for layer in (*rows.values(), *columns.values())}
    if len(counts) > 1:
        raise ValueError(f"layers must all have the same number of rows, got {sorted(counts)}")
    return counts.pop()
