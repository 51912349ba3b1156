"""Compare the best of many layer pairs with the best pair that chance would give."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from shesha.calibration.calibrated_pair_doubts import doubts_of_pair, leave_out_scorer, weigh_doubts
from shesha.calibration.calibration_input import prepare
from shesha.calibration.dependence_warnings import warn_of_dependence
from shesha.calibration.grid_aggregates import Aggregate, best_total, reducer, totals
from shesha.calibration.grid_permutation_scores import grid_scores
from shesha.calibration.single_pair import collect, plain_options
from shesha.inputs import MissingRows, RowChoice, labels_in_order
from shesha.inputs import validation as check
from shesha.measures.registry import Choice
from shesha.nulls.max_statistic import max_statistic_p_values
from shesha.nulls.null_summary import best_value, require_attainable_maximum, summarise
from shesha.nulls.permutations import Design, draw_permutations, identity_first
from shesha.results import CalibratedLayers, Dependence, Doubts
from shesha.support.default_draw_counts import N_PERMUTATIONS
from shesha.support.layer_axis import LayerAxis, layer_sequence
from shesha.support.layer_order import layers_by_depth
from shesha.support.provenance import keep_statements
from shesha.support.seeds import number
from shesha.support.types import Matrix, Seed, Vector
from shesha.views import Rdm, Representation, check_named_arrays, layers_in_one_order, select_layer_rows

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
        'max': the score of the closest pair. 'row_max': each layer of `layers_a` scored against its closest layer in
        `layers_b`, averaged over `layers_a`. 'top_k': the mean score of the 10 closest pairs. 'mean': the mean score of
        all pairs. If the measure is a distance, the closest pair has the smallest value. Your own function takes the
        grid (layers_a x layers_b) and returns a number in the direction of the measure (for a distance, lower is
        closer).
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
    >>> found.best, found.significant
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
        measure=name,
        family=measure_used.family,
        closer=closer,
        aggregate=aggregate if isinstance(aggregate, str) else getattr(aggregate, "__name__", "function"),
        rows=tuple(first),
        columns=tuple(second),
        alpha=float(alpha),
        n_rows=n,
        exchanged=exchanged,
        seed=number(seed),
        interrupted=interrupted,
        options=plain_options(options, truncate),
        best=best,
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
    names = ("score", "p_value", "threshold", "null_mean", "null_sd", "n_lost")
    return {
        "observed": float(reduced[0]),
        "n_permutations": len(reduced) - 1,
        "null": tuple(reduced[1:].tolist()),
        "maximum": best,
        **{name: getattr(worth, name) for name in names},
    }


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
