"""The best of many layer pairs beside the best that chance gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shesha import _validate as check
from shesha._random import Seed, number
from shesha._warnings import NotEstimable
from shesha.calibration import null as null_kernel
from shesha.calibration.orders import drawn_orders, identity_first
from shesha.calibration.scalar import Chosen, collect, drawn, leading, look_at, recorded, require_inputs_as_rows
from shesha.kernels.null_summary import best_value, summarise
from shesha.measures import Measure
from shesha.results import CalibratedLayers
from shesha.views import Rdm, Representation, named, together

Matrix = NDArray[np.float64]
Index = NDArray[np.intp]
Layers = Mapping[str, ArrayLike | Rdm] | Sequence[ArrayLike | Rdm]
Aggregate = str | Callable[[Matrix], float]

TOP = 10
"""Pairs that 'top_k' averages."""


def _maximum(grid: Matrix) -> float:
    return float(grid.max())


def _row_maximum(grid: Matrix) -> float:
    return float(grid.max(axis=1).mean())


def _top(grid: Matrix) -> float:
    k = min(TOP, grid.size)
    return float(np.partition(grid, grid.size - k, axis=None)[grid.size - k :].mean())


def _mean(grid: Matrix) -> float:
    return float(grid.mean())


AGGREGATES: dict[str, Callable[[Matrix], float]] = {
    "max": _maximum,
    "row_max": _row_maximum,
    "top_k": _top,
    "mean": _mean,
}


def calibrate_layers(
    layers_a: Layers,
    layers_b: Layers,
    measure: Chosen = "CKA",
    aggregate: Aggregate = "max",
    *,
    n_permutations: int = 200,
    alpha: float = 0.05,
    maximum: float | None = None,
    blocks: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    permutations: ArrayLike | None = None,
    truncate: int | float | None = None,
    seed: Seed = None,
    **options: Any,
) -> CalibratedLayers:
    """Calibrate what is reported of a grid of layers: the best pair beside the best that chance gives.

    The maximum of many scores is high by chance alone, the more so the more layers there are. Each draw matches
    the rows at random, the same way in all layers, and the aggregate of the whole grid is taken, as it is
    of the observed one.

    Parameters
    ----------
    layers_a, layers_b : mappings of names to arrays, or sequences of arrays
        Layers of shape (n_samples, n_features) of the same inputs.
    measure : str, Measure or function
        A measure, or f(X, Y) -> float of your own, for which higher is closer.
    aggregate : {'max', 'row_max', 'top_k', 'mean'} or function
        The closest pair; the mean over layers of a of their closest partner; the mean of the 10 closest pairs;
        the mean of all; or a function of the grid (layers_a x layers_b) that returns a number. The named ones take
        the direction of the measure into account: the closest pair is the smallest distance.
    n_permutations, alpha, maximum, blocks, groups, permutations, truncate, seed, **options
        As for `calibrate`.

    Returns
    -------
    CalibratedLayers
        The aggregate with its threshold, p-value and calibrated score; the best pair; the grid with entry-wise
        p-values, which are not the answer to "is any pair above chance?".

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> a, b = ([rng.standard_normal((40, 6)) for _ in range(3)] for _ in range(2))
    >>> found = calibrate_layers(a, [*b, a[1] + rng.standard_normal((40, 6))], seed=0)
    >>> found.best, found.significant
    (('1', '3'), True)
    """
    rows, columns = named_layers(layers_a, "layers_a"), named_layers(layers_b, "layers_b")
    n = _n_rows(rows, columns)
    orders, exchanged = drawn_orders(
        n, n_permutations, alpha, blocks=blocks, groups=groups, permutations=permutations, seed=seed
    )
    name, closer, bounds, scores = _scores(rows, columns, measure, options, truncate, seed, identity_first(orders))
    reduce = _reducer(aggregate, closer)
    grids, interrupted = collect(scores, len(orders) + 1)
    if np.isnan(grids[0]).any():
        raise ValueError("every pair of layers must have a score to be calibrated, got NaN: see compare_layers")
    return CalibratedLayers(
        measure=name,
        closer=closer,
        aggregate=aggregate if isinstance(aggregate, str) else getattr(aggregate, "__name__", "function"),
        rows=tuple(rows),
        columns=tuple(columns),
        maximum=best_value(closer, bounds, maximum),
        alpha=float(alpha),
        n_rows=n,
        exchanged=exchanged,
        seed=number(seed),
        interrupted=interrupted,
        options=recorded(options, truncate),
        best=_closest(grids[0], closer, list(rows), list(columns)),
        grid=_nested(grids[0]),
        entry_p_values=_nested(_entrywise(grids if closer == "higher" else -grids)),
        **_reported(grids, reduce, closer, alpha, best_value(closer, bounds, maximum)),
    )


def _closest(grid: Matrix, closer: str, rows: list[str], columns: list[str]) -> tuple[str, str]:
    place = (grid if closer == "higher" else -grid).argmax()
    i, j = np.unravel_index(int(place), grid.shape)
    return rows[int(i)], columns[int(j)]


def _reported(
    grids: Matrix, reduce: Callable[[Matrix], float], closer: str, alpha: float, best: float | None
) -> dict[str, Any]:
    """What is reported of each grid, the observed one first, and what it is worth."""
    totals = np.array([reduce(grid) if not np.isnan(grid).any() else np.nan for grid in grids])
    if np.isnan(totals[0]):
        raise ValueError("aggregate must return a number for the observed grid, got NaN")
    found = summarise(float(totals[0]), totals[1:], closer, alpha, best)
    names = ("score", "p_value", "threshold", "null_mean", "null_sd", "n_lost")
    return {
        "observed": float(totals[0]),
        "n_permutations": len(totals) - 1,
        "null": tuple(totals[1:].tolist()),
        **{name: getattr(found, name) for name in names},
    }


def _entrywise(grids: Matrix) -> Matrix:
    """p-value of each pair alone; draws without a score count as extreme."""
    flat = grids.reshape(len(grids), -1)
    p_values = [summarise(column[0], column[1:], "higher", 0.5, None).p_value for column in flat.T]
    return np.reshape(p_values, grids.shape[1:])


def _nested(grid: Matrix) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(row) for row in grid.tolist())


def _reducer(aggregate: Aggregate, closer: str) -> Callable[[Matrix], float]:
    if isinstance(aggregate, str):
        check.choice(aggregate, tuple(AGGREGATES), "aggregate")
        reduce = AGGREGATES[aggregate]
        return reduce if closer == "higher" else lambda grid: -reduce(-grid)
    if not callable(aggregate):
        raise TypeError(f"aggregate must be a name or a function of the grid, got {aggregate!r}")
    return lambda grid: _number(aggregate(grid.copy()))


def _number(value: Any) -> float:
    if np.ndim(value) != 0:
        raise ValueError(f"aggregate must return one number for a grid, got an array of shape {np.shape(value)}")
    return float(value)


def named_layers(layers: Layers, name: str) -> dict[str, Representation]:
    """Check the layers; those of a sequence are called by number."""
    found = named(layers if isinstance(layers, Mapping) else dict(enumerate(layers)), name, name + "[{!r}]")
    if not found:
        raise ValueError(f"{name} must hold at least one layer, got none")
    return found


def _n_rows(rows: dict[str, Representation], columns: dict[str, Representation]) -> int:
    counts = {layer.n_rows for layer in (*rows.values(), *columns.values())}
    if len(counts) > 1:
        raise ValueError(f"layers must all have the same rows, got numbers of rows {sorted(counts)}")
    return counts.pop()


def _scores(
    rows: dict[str, Representation],
    columns: dict[str, Representation],
    measure: Chosen,
    options: dict[str, Any],
    truncate: int | float | None,
    seed: Seed,
    orders: list[Index],
) -> tuple[str, str, tuple[float, float], Iterator[Matrix]]:
    if callable(measure) and not isinstance(getattr(measure, "measure", None), Measure):
        x, y = ([leading(layer, truncate).on_host.rows for layer in side.values()] for side in (rows, columns))
        found = null_kernel.of_function(lambda p, q: measure(p, q, **options), x, y, orders)
        return getattr(measure, "__name__", type(measure).__name__), "higher", (-np.inf, np.inf), found
    chosen = drawn(measure, options, truncate=truncate, seed=seed)
    require_inputs_as_rows(chosen, *rows.values(), *columns.values())
    layers = together([*rows.values(), *columns.values()], anywhere=chosen.anywhere)
    sides = layers[: len(rows)], layers[len(rows) :]
    parts = _parts(*sides)
    try:
        scores = [_part_scores(chosen, sides, part, truncate, orders) for part in parts]
    except NotEstimable as reason:
        raise ValueError(
            f"every layer must be one that {chosen.name} can be computed of, got one where {reason}"
        ) from None
    return chosen.name, chosen.closer, chosen.bounds, _put_together(scores, parts, (len(rows), len(columns)))


@dataclass(frozen=True)
class _Part:
    """Pairs of layers that meet on one grid of positions; all pairs where there are no feature maps."""

    grid: tuple[int, int] | None
    pairs: tuple[tuple[int, int], ...]

    @property
    def rows(self) -> list[int]:
        return sorted({i for i, _ in self.pairs})

    @property
    def columns(self) -> list[int]:
        return sorted({j for _, j in self.pairs})


def _parts(rows: list[Representation], columns: list[Representation]) -> list[_Part]:
    """Group the pairs by the grid that their feature maps are pooled to."""
    found: dict[tuple[int, int] | None, list[tuple[int, int]]] = {}
    for i, a in enumerate(rows):
        for j, b in enumerate(columns):
            maps = [layer.shape for layer in (a, b) if len(layer.shape) == 4]
            grid = (min(s[2] for s in maps), min(s[3] for s in maps)) if maps else None
            found.setdefault(grid, []).append((i, j))
    return [_Part(grid, tuple(pairs)) for grid, pairs in found.items()]


def _part_scores(
    measure: Measure,
    sides: tuple[list[Representation], list[Representation]],
    part: _Part,
    truncate: int | float | None,
    orders: list[Index],
) -> Iterator[Matrix]:
    chosen = [
        [leading(side[k].fold("columns", part.grid), truncate) for k in which]
        for side, which in zip(sides, (part.rows, part.columns), strict=True)
    ]
    for a in chosen[0]:
        for b in chosen[1]:
            measure.require_comparable(a, b)
    views = [look_at(measure, side, keep=False) for side in chosen]
    return null_kernel.grids(measure, views[0], views[1], orders)


def _put_together(scores: list[Iterator[Matrix]], parts: list[_Part], shape: tuple[int, int]) -> Iterator[Matrix]:
    for drawn_parts in zip(*scores, strict=True):
        whole = np.full(shape, np.nan)
        for part, grid in zip(parts, drawn_parts, strict=True):
            row, column = ({k: at for at, k in enumerate(which)} for which in (part.rows, part.columns))
            for i, j in part.pairs:
                whole[i, j] = grid[row[i], column[j]]
        yield whole
