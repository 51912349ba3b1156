"""Compare every layer of one model with every layer of another, and the best pair with the best pair by chance."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

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
    plain_options,
    warn_of_dependence,
    weigh_doubts,
)
from shesha.comparison import engine
from shesha.comparison.compare import MOST_ROWS_TESTED, seed_measures, two_names
from shesha.comparison.engine import Evidence
from shesha.comparison.moment_scores import compare_layer_moments
from shesha.comparison.pairwise import arrange_scores
from shesha.comparison.resumable_pairs import require_same_rows
from shesha.doubting import find_pair_doubts, irrelevant_doubts
from shesha.inputs import MissingRows, RowChoice, labels_in_order, validation as check
from shesha.inputs.matrix_shapes import state_shapes
from shesha.measures import Measure, as_measure
from shesha.measures.lookup import PlainMeasure
from shesha.measures.registry import Choice
from shesha.moments import LayerMoments
from shesha.nulls.design_builder import exchange
from shesha.nulls.null_summary import best_value, max_statistic_p_values, require_attainable_maximum, summarise
from shesha.nulls.permutations import Design, draw_permutations, identity_first, nonempty_arguments
from shesha.results import LayerComparison, Score
from shesha.support.layer_axis import LayerAxis, layer_sequence, without_single_values
from shesha.support.provenance import ignore_statements, keep_statements, state_warning
from shesha.support.seeds import ALPHA, N_PERMUTATIONS, number
from shesha.support.types import Index, Matrix, Seed, Vector, brief, is_word, shape_of
from shesha.support.warnings import NotEstimable
from shesha.support.wording import join_items, layers_by_depth
from shesha.views import (
    Rdm,
    Representation,
    aligned,
    check_named_arrays,
    layers_in_one_order,
    move_to_one_device,
    select_layer_rows,
)

_DEFAULT = "unbiased CKA"
Layers = Mapping[str, ArrayLike | Rdm] | Sequence[ArrayLike | Rdm]
Model = dict[str, Representation]
Aggregate = str | Callable[[Matrix], float]


@keep_statements
def compare_layers(
    layers_a: Layers | LayerMoments,
    layers_b: Layers | Choice | None = None,
    measure: Choice = _DEFAULT,
    *,
    names: tuple[str, str] | tuple[()] = (),
    calibrate: bool | None = None,
    aggregate: Aggregate = "max",
    confidence: float | None = None,
    n_permutations: int = N_PERMUTATIONS,
    alpha: float = ALPHA,
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
    seed: Seed = 0,
    layer_axis: LayerAxis = "guess",
    **options: Any,
) -> LayerComparison:
    """Compare every layer of one model with every layer of another, using one measure.

    With `calibrate`, one summary of the grid, such as the value of its closest pair, is compared with chance. The
    maximum of many scores is high by chance alone, especially with many layers. Each draw therefore permutes the rows
    of one model, identically in all its layers, and summarises the resulting grid in the same way.

    Parameters
    ----------
    layers_a, layers_b : mappings of names to arrays, or sequences of arrays
        Layers of shape (n_samples, n_features), all computed from the same inputs. In a sequence, layers are named by
        their position. Layers in alphabetical order are put in the order of their numbers. The layers of a model may
        also be one 3-D array. A `shesha.LayerMoments` object summarises the layers of both models, for any number of
        rows. From it, ``compare_layers(moments, measure)`` computes measures that depend only on means and products.
        CKA and unbiased CKA then have a p-value for each pair, corrected for the number of pairs.
    measure : str, Measure or function
        Name of a measure, which may include options, a function of `shesha.measures`, or your own f(X, Y) -> float,
        whose higher values must mean more similar.
    names : pair of str, optional
        Names of the two models, for the answer and for messages.
    calibrate : bool, optional
        Whether to add chance levels and p-values, for the summary of the grid and for each pair. To test whether any
        pair exceeds chance, use the p-value of the summary. Default: True if another option needs it, or for the
        default measure if all pairs have a value and the grid is no more work than `compare` with 2,000 rows (12 x 12
        layers: up to 577 rows).
    aggregate : {'max', 'row_max', 'top_k', 'mean'} or function
        Summary of the grid, which `calibrate` compares with chance. 'max': the score of the closest pair. 'row_max':
        each layer of `layers_a` scored against its closest layer in `layers_b`, averaged over `layers_a`. 'top_k': the
        mean score of the 10 closest pairs. 'mean': the mean score of all pairs. If the measure is a distance, the
        closest pair has the smallest value. Your own function takes the grid (layers_a x layers_b) and returns a number
        in the direction of the measure (for a distance, lower is closer).
    confidence : float, optional
        Confidence level of an interval for the closest partner of each layer of `layers_a`, as for `compare`. Default:
        no intervals, because they take longer than the null. They do not include the choice of the partner.
    maximum : float, optional
        Value that the aggregate takes for perfect agreement. Default: the best value of the measure, or no maximum if
        your own aggregate returns values outside the measure's bounds.
    n_permutations, alpha, blocks, groups, within, shift, block_length, permutations, truncate, **options
        As for `shesha.calibrate`. All but alpha, n_permutations and options of the measure need `calibrate`.
    rows, missing
        As for `compare`.
    seed : int, Generator or None
        Seed of random measures, permutations and subsets of the rows.
    layer_axis : int, None or 'guess'
        Axis of a 3-D array along which its layers are stacked. None: the array is one layer of token sequences.
        'guess': the first axis, or the second if it is at most a third as long, with a warning.

    Returns
    -------
    LayerComparison
        The grid of scores, with `.matrix()`, `.plot()`, `.closest` and `.partners`. With `calibrate`, its `value`,
        `p_value`, `threshold` and `calibrated` are those of the summary, and `doubts` concern the closest pair (as in
        `calibrate`).

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> layers = [rng.standard_normal((50, 8)) for _ in range(3)]
    >>> found = compare_layers(layers, {"copy of 2": layers[2], "noise": rng.standard_normal((50, 4))})
    >>> found.closest.first, found.closest.second
    ('2', 'copy of 2')

    With chance levels:

    >>> others = [rng.standard_normal((50, 8)), layers[1] + rng.standard_normal((50, 8))]
    >>> found = compare_layers(layers, others, calibrate=True)
    >>> found.closest.first, found.closest.second, found.significant
    ('1', '1', True)
    """
    if isinstance(layers_a, LayerMoments):
        chosen_one = as_measure(cast(Choice, measure if layers_b is None else layers_b))
        return compare_layer_moments(layers_a, chosen_one)
    if layers_b is None:
        raise TypeError("layers_b must be the layers of a second model, got None; only LayerMoments need no layers_b")
    check.fraction(alpha, "alpha", closed=False)
    names = () if names is None or (isinstance(names, tuple | list) and not names) else two_names(names)
    labels = names or ("layers_a", "layers_b")
    design = Design(blocks=blocks, groups=groups, within=within, shift=shift, block_length=block_length)
    calibrate = _require_calibrate(
        calibrate, [*nonempty_arguments(design)], permutations=permutations is not None,
        aggregate=not is_word(aggregate, ["max"]), truncate=truncate is not None, maximum=maximum is not None,
    )  # fmt: skip
    models = dict(zip(labels, (layers_a, cast(Layers, layers_b)), strict=True))
    chosen_one = as_measure(measure)
    is_plain = isinstance(chosen_one, PlainMeasure)
    tested = None if is_plain or calibrate is not True else chosen_one.with_options(**options)
    given, first, second, design = _read_models(
        models, layer_axis, design, rows, missing, None if permutations is not None else tested, seed
    )
    n_rows = next(iter(first.values())).n_rows
    common: dict[str, Any] = {"names": names, "n_rows": n_rows, "alpha": float(alpha), "seed": number(seed)}
    common |= {"options": plain_options(options, truncate)}
    plain: tuple[Score, ...] = ()
    if not calibrate:
        plain, interrupted = _score_grid(first, second, as_measure(measure).with_options(**options), seed)
    if calibrate is None:
        is_small = n_rows**2 * (len(first) + len(second)) <= 2 * MOST_ROWS_TESTED**2
        calibrate = measure == _DEFAULT and is_small and all(pair.has_value for pair in plain)
    if calibrate:
        orders, exchanged = draw_permutations(
            n_rows, n_permutations, alpha, design=design, permutations=permutations, seed=seed
        )
        # One layer stands for all layers of a model, which share the same rows in the same order.
        middle = [list(model.values())[len(model) // 2] for model in (first, second)]
        dependence = warn_of_dependence(middle, design, permutations)
        chosen: dict[str, Any] = {"truncate": truncate, "seed": seed}
        tested, scores = _grid_scores(measure, options, (first, second), given, identity_first(orders), **chosen)
        grids, interrupted = collect(scores, len(orders) + 1)
        common |= {"exchanged": exchanged, "interrupted": interrupted}
        found = _summarise_grids(tested, grids, (first, second), aggregate, maximum, **common)
        best = found.closest
        # The rows were aligned, and this was stated, before the grid was computed.
        with ignore_statements():
            pair = prepare(first[best.first], second[best.second], measure, options, **chosen)
        but = () if pair.measure is None else irrelevant_doubts([pair.measure.invariant])
        doubts = find_pair_doubts(
            pair.sides, design, dependence, only_cheap=True, names=(str(best.first), str(best.second)), but=but
        )
        doubts = weigh_doubts(doubts, pair, best, best_value(pair.closer, pair.bounds, None))
        found = replace(found, doubts=doubts)
    else:
        found = LayerComparison.untested(list(first), list(second), plain, interrupted=interrupted, **common)
    _warn_of_copied_layers(found.scores, models)
    if confidence is None or found.interrupted:
        return found
    return _add_intervals(found, (first, second), as_measure(measure).with_options(**options), design, confidence, seed)


def _warn_of_copied_layers(scores: Sequence[Score], models: Iterable[str]) -> None:
    """Warn of layers of one model that have the same values with all layers of the other, as copies have."""
    for place, model in enumerate(models):
        values: dict[Any, dict[Any, float]] = {}
        for pair in scores:
            layer, other = (pair.first, pair.second)[:: -1 if place else 1]
            values.setdefault(layer, {})[other] = pair.value
        layers, grid = list(values), np.array([list(row.values()) for row in values.values()])
        if grid.ndim < 2 or np.isnan(grid).any() or not (np.ptp(grid) > 0):
            continue
        same = [np.flatnonzero((np.abs(grid - row) <= _EQUAL * np.abs(grid).max()).all(axis=1)) for row in grid]
        copies = max(same, key=len)
        if len(copies) > 1:
            state_warning(
                f"{join_items(layers[k] for k in copies)} of {model} have the same values with all layers of the other "
                "model, like copies, so which of them is closest is arbitrary. A hook that keeps one array does so"
            )


_EQUAL = 1e-9
"""Largest difference of two values, relative to the largest, that is a rounding error."""


def _require_calibrate(calibrate: bool | None, design: list[str], **options: bool) -> bool | None:
    """Return True, or raise an error if `calibrate` is False, if an option needs it."""
    needs = [*design, *(name for name, value in options.items() if value)]
    if calibrate is not None and not check.boolean(calibrate, "calibrate") and needs:
        raise ValueError(f"calibrate must be True with {' and '.join(needs)}, got False")
    return True if needs else calibrate


def calibrate_layers(
    layers_a: Layers,
    layers_b: Layers,
    measure: Choice = "CKA",
    aggregate: Aggregate = "max",
    *,
    n_permutations: int = N_PERMUTATIONS,
    seed: Seed = 0,
    **options: Any,
) -> LayerComparison:
    """Calibrate one summary of a grid of layer pairs: `compare_layers` with `calibrate=True`.

    Parameters
    ----------
    layers_a, layers_b, measure, aggregate, n_permutations, seed, **options
        As for `compare_layers`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> a, b = ([rng.standard_normal((40, 6)) for _ in range(3)] for _ in range(2))
    >>> calibrate_layers(a, [*b, a[1] + rng.standard_normal((40, 6))], seed=0).significant
    True
    """
    chosen = {"aggregate": aggregate, "n_permutations": n_permutations, "seed": seed, **options}
    return compare_layers(layers_a, layers_b, measure, calibrate=True, **chosen)


def _read_models(
    models: Mapping[str, Layers],
    layer_axis: LayerAxis,
    design: Design,
    rows: RowChoice,
    missing: MissingRows,
    tested: Measure | None,
    seed: Seed,
) -> tuple[dict[str, dict[Any, Any]], Model, Model, Design]:
    """Return the layers of both models as passed and as representations, all with the same rows, and the design.

    If the null of the tested measure exceeds the memory, random rows are used.
    """
    mappings = {name: layer_mapping(layer_sequence(layers, name, layer_axis), name) for name, layers in models.items()}
    n_first = len(next(iter(mappings.values())))

    def need(shapes: list[tuple[int, int]]) -> int:
        assert tested is not None
        sides = [Representation(np.broadcast_to(np.float64(0), shape), 0.0) for shape in shapes]
        return max(null_kernel.null_bytes(tested, side) for side in (sides[:n_first], sides[n_first:]))

    used, along = select_layer_rows(
        mappings, design, rows=rows, missing=missing, need=need if tested else None, seed=seed
    )
    given = dict(zip(models, used, strict=True))
    first, second = layers_in_one_order({name: check_layers(layers, name) for name, layers in given.items()})
    sides = zip(models, (first, second), strict=True)
    require_same_rows({f"{name}[{layer}]": X for name, layers in sides for layer, X in layers.items()})
    known = (side.names for side in (*first.values(), *second.values()))
    return given, first, second, cast(Design, labels_in_order(known, along))


def _score_grid(first: Model, second: Model, measure: Measure, seed: Seed) -> tuple[tuple[Score, ...], bool]:
    """Score every pair of layers without a null; a pair without a value has a reason."""
    chosen = seed_measures([measure], seed)
    # The prefixes distinguish the models, whose layers may have the same names.
    sources = {f"a {name}": X for name, X in first.items()} | {f"b {name}": X for name, X in second.items()}
    pairs = {chosen[0].name: [(f"a {i}", f"b {j}") for i, j in product(first, second)]}
    groups = engine.group_by_view(chosen, pairs, sources.values())
    skipped = engine.too_large(groups, sources)
    found, interrupted = engine.collect(engine.run(groups, sources, skipped), len(first) * len(second))
    return tuple(_restore_layer_names(pair) for pair in arrange_scores(found, chosen, pairs)), interrupted


def _restore_layer_names(pair: Score) -> Score:
    reason = pair.reason
    for name in (pair.first, pair.second):
        if reason.startswith(f"{name}: "):
            reason = reason[2:]
            break
    return replace(pair, first=pair.first[2:], second=pair.second[2:], reason=reason)


def _summarise_grids(
    measure: Measure,
    grids: Matrix,
    models: tuple[Model, Model],
    aggregate: Aggregate,
    maximum: float | None,
    **common: Any,
) -> LayerComparison:
    """Compare the summary of the observed grid, and each of its pairs, with those of the permuted grids."""
    rows, columns = map(tuple, models)
    closer, alpha = measure.closer, common["alpha"]
    _require_scores(grids[0], list(rows), list(columns), measure.name)
    reduced = totals(reducer(aggregate, closer), grids)
    best = best_total(reduced, closer, measure.bounds, maximum)
    total = summarise(float(reduced[0]), reduced[1:], closer, alpha, best)
    require_attainable_maximum(maximum, total.value, total.threshold, closer)
    return LayerComparison(
        name=measure.name,
        closer=closer,
        aggregate=aggregate if isinstance(aggregate, str) else getattr(aggregate, "__name__", "function"),
        rows=rows,
        columns=columns,
        scores=_pair_scores(measure, grids, list(product(rows, columns)), common),
        **common | total.evidence() | {"value": total.value, "null": total.null},
    )


def _pair_scores(
    measure: Measure, grids: Matrix, pairs: Sequence[tuple[str, str]], common: dict[str, Any]
) -> tuple[Score, ...]:
    """Compare each pair with its own draws, and correct its p-value for the number of pairs."""
    draws = list(grids.reshape(len(grids), -1).T)
    corrected = max_statistic_p_values(draws, [measure.closer] * len(draws)).tolist()
    best = best_value(measure.closer, measure.bounds, None)
    shared = {name: common[name] for name in ("n_rows", "exchanged", "seed")}
    return tuple(
        replace(
            engine.make_score(measure, float(column[0])),
            first=first,
            second=second,
            corrected_p_value=p,
            **shared,
            **summarise(float(column[0]), column[1:], measure.closer, common["alpha"], best).evidence(),
        )
        for (first, second), column, p in zip(pairs, draws, corrected, strict=True)
    )


def _add_intervals(
    found: LayerComparison,
    models: tuple[Model, Model],
    measure: Measure,
    design: Design,
    confidence: float,
    seed: Seed,
) -> LayerComparison:
    """Add an interval to the closest partner of each layer of the first model."""
    (chosen,) = seed_measures([measure], seed)
    evidence = Evidence.draw_subsets(
        exchange(found.n_rows, **nonempty_arguments(design)), found.alpha, confidence, seed
    )
    with_interval: dict[tuple[str, str], Score] = {}
    for pair in found.partners:
        sides = models[0][pair.first], models[1][pair.second]
        names = pair.first, pair.second
        (group,) = engine.group_by_view([chosen], {chosen.name: [names]}, sides)
        a, b = aligned(*sides, chosen.view.folding, anywhere=chosen.anywhere)
        on_subsets = np.array([score for (score,) in evidence.score_subsets(group, [chosen], (a, b))])
        score = evidence.add_interval(pair, on_subsets, chosen.estimates)
        with_interval[names] = replace(score, confidence=confidence) if score.has_interval else score
        for side in (a, b):
            side.drop_views()
    scores = tuple(with_interval.get((pair.first, pair.second), pair) for pair in found.scores)
    return replace(found, scores=scores, confidence=confidence)


def _grid_scores(
    measure: Choice,
    options: dict[str, Any],
    models: tuple[Model, Model],
    given: dict[str, dict[Any, Any]],
    orders: list[Index],
    *,
    truncate: int | float | None,
    seed: Seed,
) -> tuple[Measure, Iterator[Matrix]]:
    """Return the measure, and an iterator over score grids, one per permutation of the second model's rows.

    `given` are the layers as the user passed them, by the name of the model. A user function receives these objects.
    """
    rows, columns = models
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
    parts: dict[tuple[int, int] | None, NDArray[np.bool_]] = {}
    for i, j in product(range(len(rows)), range(len(columns))):
        maps = [layer.shape for layer in (layers[i], layers[len(rows) + j]) if len(layer.shape) == 4]
        pooled = (min(s[2] for s in maps), min(s[3] for s in maps)) if maps else None
        parts.setdefault(pooled, np.zeros((len(rows), len(columns)), dtype=bool))[i, j] = True
    named = list(zip((*rows, *columns), layers, strict=True))
    places = [tuple(np.flatnonzero(pairs.any(axis=axis)) for axis in (1, 0)) for pairs in parts.values()]
    scores = [
        _part_scores(chosen, [named[i] for i in own], [named[len(rows) + j] for j in others], pooled, truncate, orders)
        for pooled, (own, others) in zip(parts, places, strict=True)
    ]

    def assemble() -> Iterator[Matrix]:
        for drawn_parts in zip(*scores, strict=True):
            grid = np.full((len(rows), len(columns)), np.nan)
            for pairs, place, part in zip(parts.values(), places, drawn_parts, strict=True):
                some = np.ix_(*place)
                grid[some] = np.where(pairs[some], part, grid[some])
            yield grid

    return chosen, assemble()


def _part_scores(
    measure: Measure,
    rows: list[tuple[str, Representation]],
    columns: list[tuple[str, Representation]],
    pooled: tuple[int, int] | None,
    truncate: int | float | None,
    orders: list[Index],
) -> Iterator[Matrix]:
    """Return the scores of named layers whose feature maps are pooled to the same size (None without maps)."""
    folded = [layer.fold("columns", pooled) for _, layer in (*rows, *columns)]
    try:
        chosen = [truncate_components(layer, truncate) for layer in folded]
        for a, b in product(chosen[: len(rows)], chosen[len(rows) :]):
            measure.require_comparable(a, b)
        own, others = (make_views(measure, side, keep=False) for side in (chosen[: len(rows)], chosen[len(rows) :]))
    except NotEstimable as reason:
        names = [
            f"{name} of the {side} model"
            for side, layers in (("first", rows), ("second", columns))
            for name, _ in layers
        ]
        culprit = _culprit(measure, folded, names)
        raise ValueError(
            f"every layer must be suitable for {measure.name}, got {culprit}{reason}"
            + "; leave this layer out (--key names the others)" * bool(culprit)
        ) from None
    return null_kernel.grids(measure, own, others, orders)


def _culprit(measure: Measure, layers: list[Representation], names: list[str]) -> str:
    """Name the first layer for which the view cannot be computed, if a single layer is at fault."""
    for name, layer in zip(names, layers, strict=True):
        try:
            measure.look(layer)
        except NotEstimable:
            return f"layer {name}: "
    return ""


def _require_scores(grid: Matrix, rows: list[str], columns: list[str], measure: str) -> None:
    missing = [f"{rows[i]} and {columns[j]}" for i, j in zip(*np.nonzero(np.isnan(grid)), strict=True)]
    if missing:
        raise ValueError(
            f"every pair of layers must have a score to be calibrated, got no score of {measure} for "
            f"{check.join_items(missing)}"
        )


TOP = 10
"""Number of pairs that 'top_k' averages."""


def _mean_of_largest(grid: Matrix) -> float:
    k = min(TOP, grid.size)
    return float(np.partition(grid, grid.size - k, axis=None)[grid.size - k :].mean())


AGGREGATES: dict[str, Callable[[Matrix], float]] = {
    "max": lambda grid: float(grid.max()),
    "row_max": lambda grid: float(grid.max(axis=1).mean()),
    "top_k": _mean_of_largest,
    "mean": lambda grid: float(grid.mean()),
}


def reducer(aggregate: Aggregate, closer: str) -> Callable[[Matrix], float]:
    """Return the function that computes an aggregate; named aggregates adapt to the measure's direction."""
    if isinstance(aggregate, str):
        check.choice(aggregate, tuple(AGGREGATES), "aggregate")
        reduce = AGGREGATES[aggregate]
        return reduce if closer == "higher" else lambda grid: -reduce(-grid)
    if not callable(aggregate):
        raise TypeError(f"aggregate must be a name or a function of the grid, got {brief(aggregate)}")
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


def check_layers(layers: Layers, name: str) -> dict[str, Representation]:
    """Check the layers; those in a sequence are named by their position."""
    arrays = check_named_arrays(layer_mapping(layers, name), name, name + "[{!r}]")
    if not arrays:
        raise ValueError(f"{name} must contain at least one layer, got none")
    state_shapes({layer: X.shape for layer, X in arrays.items()})
    return arrays


def layer_mapping(layers: Layers, name: str) -> Mapping[Any, Any]:
    """Return the layers of a model by name or, if they are a sequence, by position."""
    if isinstance(layers, Mapping):
        layers = without_single_values(layers)
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
    if len(shape := shape_of(layers)) == 2:
        raise TypeError(f"{name} must be several layers, got one matrix of shape {shape}; for one layer, pass [{name}]")
    return dict(enumerate(layers))
