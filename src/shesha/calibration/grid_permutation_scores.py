"""Score a grid of layer pairs under permutations of the rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from shesha.calibration import permutation_scores as null_kernel
from shesha.calibration.calibration_input import (
    function_arguments,
    make_views,
    prepare_measure,
    require_inputs_as_rows,
    truncate_components,
)
from shesha.measures import Measure, as_measure
from shesha.measures._lookup import PlainMeasure
from shesha.measures.registry import Choice
from shesha.support.types import Index, Matrix, Seed
from shesha.support.warnings import NotEstimable
from shesha.views import Representation, move_to_one_device


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
