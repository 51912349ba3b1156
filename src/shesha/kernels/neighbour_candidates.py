"""Candidates for the nearest rows, from single-precision products, and a bound for all other rows.

Each entry of a tile is a lower bound on a closeness value (smaller is closer), because the largest possible rounding
error has been subtracted. Together with the exact closeness of the candidates, the bounds show whether any other row
could be nearer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shesha.kernels import native
from shesha.kernels.distances import PANEL
from shesha.kernels.rounding_and_scaling import length_unit
from shesha.kernels.threads import parallel
from shesha.support.device_arrays import squared_lengths
from shesha.support.types import Index, Matrix, Vector

Single = NDArray[np.float32]
_BLOCK = 2048
"""Number of rows and of columns in the block of products that one thread computes."""
_MOST = 64
"""Largest number of candidates per row for which sorted lists are faster than partitioning."""
_WIDEST = 1 << 16
"""Largest number of features for which the bound on rounding errors is tight enough."""
_UNIT = 2.0**-24
_EPS = float(np.finfo(float).eps)
_TINY = 2.0**-110
"""Largest possible loss through underflow in a sum of products of numbers near 1."""
_FAR = 2.0**40
"""Largest entry, in units of the rows, for which single-precision bounds are valid."""


@dataclass(frozen=True)
class Candidates:
    """The candidates for each row, and a lower bound on the closeness values of all other rows."""

    places: Index
    bounds: Vector


@dataclass(frozen=True)
class Terms:
    """Factors of lower bounds of a closeness: the bound of i and j is left[i] @ right[j]."""

    unit: float
    """A power of two near the largest absolute entry of the rows."""
    right: Callable[[Matrix], Single]
    left: Callable[[Single], Single]

    def candidates(self, places: Index, values: Single) -> Candidates:
        """Return the lists, with each last entry converted to a bound in units of the rows (-inf if unfilled)."""
        last = values[:, -1].astype(np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            bounds = (last - _TINY) * self.unit * self.unit
        return Candidates(places, np.where(np.isfinite(last), bounds, -np.inf))

    def holds(self, rows: Matrix) -> bool:
        """Return whether the bounds are also valid for these rows."""
        return float(np.abs(rows).max(initial=0.0)) <= _FAR * self.unit


def serves(n_features: int, n_candidates: int) -> bool:
    """Whether candidates can be found this way, and faster than by partitioning."""
    return native.provides("shesha_enter_tile") and n_candidates <= _MOST and n_features <= _WIDEST


def distance_terms(rows: Matrix) -> Terms:
    """Lower bounds on squared distances: (|x|^2 + |y|^2) (1 - c) - 2 xy, for centred rows.

    A sum of d + 2 products of rounded numbers has an error of at most (d + 5) rounding units times the sum of the
    absolute products, which is at most twice |x|^2 + |y|^2.
    """
    mean, unit = rows.mean(axis=0), length_unit(rows)
    loss = 2.1 * (rows.shape[1] + 5) * _UNIT
    mean_length = float(np.sqrt(mean @ mean)) / unit

    def right(some: Matrix) -> Single:
        out = np.empty((len(some), rows.shape[1] + 2), dtype=np.float32)
        centred = (some - mean) / unit
        squared = squared_lengths(centred)
        out[:, :-2] = centred
        out[:, -2] = 1.0
        # Centring adds rounding errors that are proportional to the size of the uncentred rows.
        out[:, -1] = squared * (1 - loss) - 16 * _EPS * (np.sqrt(squared) + 2 * mean_length) ** 2
        return out

    def left(some: Single) -> Single:
        out = some * np.float32(-2.0)
        out[:, -2], out[:, -1] = some[:, -1], 1.0
        return out

    return Terms(unit, right, left)


def product_terms(rows: Matrix) -> Terms:
    """Lower bounds on the negative inner product: -xy - c |x| |y|."""
    unit = length_unit(rows)
    loss = 1.1 * (rows.shape[1] + 5) * _UNIT

    def right(some: Matrix) -> Single:
        out = np.empty((len(some), rows.shape[1] + 1), dtype=np.float32)
        scaled = some / unit
        out[:, :-1], out[:, -1] = scaled, np.sqrt(squared_lengths(scaled))
        return out

    def left(some: Single) -> Single:
        out = -some
        out[:, -1] *= np.float32(loss)
        return out

    return Terms(unit, right, left)


def candidates_of_all(terms: Terms, rows: Matrix, m: int, *, include_self: bool = False) -> Candidates:
    """Find m candidates for each row among all rows; the product of two rows is used for both of them."""
    n = len(rows)
    right = np.concatenate([terms.right(rows[start : start + _BLOCK]) for start in range(0, n, _BLOCK)])
    values, places, bounds = _empty_lists(n, m)
    blocks = -(-n // _BLOCK)

    def enter(pair: tuple[int, int]) -> None:
        first, second = (block * _BLOCK for block in pair)
        columns = slice(second, second + _BLOCK)
        tile = np.empty((PANEL, len(bounds[columns])), dtype=np.float32)
        for start in range(first, min(first + _BLOCK, n), PANEL):
            panel = slice(start, min(start + PANEL, first + _BLOCK, n))
            some = tile[: panel.stop - start]
            np.matmul(terms.left(right[panel]), right[columns].T, out=some)
            lists = values[panel], places[panel], values[columns], places[columns], bounds[columns]
            native.call("shesha_enter_tile", *some.shape, some, m, start, second, int(include_self), *lists)
            bounds[panel] = values[panel, -1]

    for around in range(blocks):
        # Pairs of blocks whose numbers have the same sum modulo the number of blocks are disjoint, so no two threads
        # write to the same list.
        pairs = [(i, (around - i) % blocks) for i in range(blocks) if i <= (around - i) % blocks]
        for _ in parallel(enter, pairs):
            pass
    return terms.candidates(places, values)


def candidates_of_some(terms: Terms, queries: Matrix, blocks: Iterable[tuple[int, Matrix]], m: int) -> Candidates:
    """Find m candidates for each query among the rows of all blocks (number of the first row, rows)."""
    left = terms.left(terms.right(queries))
    values, places, _ = _empty_lists(len(queries), m)

    for start, rows in blocks:
        right, first = terms.right(rows), start

        def enter(offset: int, right: Single = right, first: int = first) -> None:
            panel = slice(offset, offset + PANEL)
            tile = left[panel] @ right.T
            lists = values[panel], places[panel], None, None, None
            native.call("shesha_enter_tile", *tile.shape, tile, m, offset, first, 0, *lists)

        for _ in parallel(enter, range(0, len(left), PANEL)):
            pass
    return terms.candidates(places, values)


def _empty_lists(n: int, m: int) -> tuple[Single, Index, Single]:
    infinity = np.float32(np.inf)
    return np.full((n, m), infinity), np.zeros((n, m), dtype=np.intp), np.full(n, infinity)
