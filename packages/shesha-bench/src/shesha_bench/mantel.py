"""Rank correlation between two sets of distances between the same objects, with a Mantel test."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations, permutations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from shesha.nulls.restricted_permutations import Exchange
from shesha.support.types import Index, Vector

_CELLS = 1 << 20
"""Number of entries of relabelled matrices that are in memory at a time."""
_ROUNDING = 1e-10
"""Correlations that differ by less count as equal, because the order of a sum changes its last digits."""


def rank_correlation(x: Vector, y: Vector) -> float:
    """Spearman's rank correlation with mean ranks for ties; NaN if values are all equal or fewer than two."""
    if len(x) < 2 or x.min() == x.max() or y.min() == y.max():
        return math.nan
    a, b = (rankdata(side) - (len(x) + 1) / 2 for side in (x, y))
    return float(np.clip(a @ b / math.sqrt((a @ a) * (b @ b)), -1, 1))


def mantel_p(
    x: Vector,
    y: Vector,
    places: Index,
    n_permutations: int,
    rng: np.random.Generator,
    design: Exchange | None = None,
) -> float:
    """Return the two-sided p-value of the rank correlation of x and y, by relabelling the objects of y.

    `places`, of shape (n_pairs, 2), names the two objects of each entry. Entries are ranked only once. Every
    correlation, including the observed one, leaves out entries that are NaN in x or in the relabelled y. `design`
    determines which objects may exchange labels; None allows all exchanges. Without a design, every relabelling is used
    once if there are at most `n_permutations`.
    """
    n_objects = int(places.max()) + 1 if design is None else design.n_rows
    ranks, others = _rank(x), _square(_rank(y), places, n_objects)
    kept = ~np.isnan(ranks)
    a, rows, columns = ranks[kept], *places[kept].T
    exact = design is None and math.factorial(min(n_objects, 20)) <= n_permutations
    at_once = max(1, _CELLS // len(a))
    if design is not None:
        draws = _draw_designed_orders(design, n_permutations, at_once, rng)
    else:
        draws = _all_orders(n_objects) if exact else _random_orders(n_objects, n_permutations, at_once, rng)
    identity = np.arange(n_objects)[None]
    observed = abs(float(_correlations(a, others[identity[:, rows], identity[:, columns]])[0])) - _ROUNDING
    as_strong = total = 0
    for orders in draws:
        correlations = _correlations(a, others[orders[:, rows], orders[:, columns]])
        as_strong += int((np.abs(correlations) >= observed).sum())
        total += len(orders)
    # All orders include the true one; to random orders, it is added.
    return as_strong / total if exact else (as_strong + 1) / (total + 1)


def pair_models(n_pairs: int, n_models: int | None, pairs: Sequence[tuple[int, int]] | None) -> Index | None:
    """Return the two models of each pair, one row per pair."""
    if n_models is None and pairs is None:
        return None
    if pairs is None:
        pairs = list(combinations(range(n_models or 0), 2))
    places = np.asarray(pairs, dtype=np.intp).reshape(-1, 2)
    if len(places) != n_pairs:
        raise ValueError(f"pairs must name the models of each of the {n_pairs} distances, got {len(places)} pairs")
    top = int(places.max(initial=-1)) if n_models is None else n_models - 1
    if (places < 0).any() or (places > top).any() or (places[:, 0] == places[:, 1]).any():
        raise ValueError(f"pairs must contain two different model numbers from 0 to {top}, got other values")
    if len({*map(tuple, places.tolist())}) < n_pairs:
        raise ValueError("pairs must be distinct, got a pair twice")
    return places


def _rank(values: Vector) -> Vector:
    """Return ranks minus their mean, with NaN for missing values."""
    kept = ~np.isnan(values)
    ranks = np.full(len(values), np.nan)
    ranks[kept] = rankdata(values[kept]) - (kept.sum() + 1) / 2
    return ranks


def _square(values: Vector, places: Index, n_objects: int) -> NDArray[np.float64]:
    """Arrange the entries as a square matrix; a pair that has a value in only one order gets it in both."""
    square = np.full((n_objects, n_objects), np.nan)
    square[places[:, 1], places[:, 0]] = values
    square[places[:, 0], places[:, 1]] = values
    return square


def _correlations(a: Vector, relabelled: NDArray[np.float64]) -> Vector:
    """Return the Pearson correlation of `a` with each row, over the row's entries that are not NaN."""
    here = (~np.isnan(relabelled)).astype(np.float64)
    b = np.nan_to_num(relabelled)
    n = np.maximum(here.sum(axis=1), 1)
    mean_a, mean_b = here @ a / n, b.sum(axis=1) / n
    products = b @ a - n * mean_a * mean_b
    spread = (here @ a**2 - n * mean_a**2) * ((b**2).sum(axis=1) - n * mean_b**2)
    # If the remaining values are all equal, the correlation is set to 0.
    usable = spread > _ROUNDING
    return np.where(usable, products / np.sqrt(np.where(usable, spread, 1.0)), 0.0)


def _all_orders(n: int) -> Iterator[Index]:
    yield np.array(list(permutations(range(n))), dtype=np.intp)


def _draw_designed_orders(design: Exchange, count: int, at_once: int, rng: np.random.Generator) -> Iterator[Index]:
    for start in range(0, count, at_once):
        yield np.array([design.draw(rng) for _ in range(min(at_once, count - start))])


def _random_orders(n: int, count: int, at_once: int, rng: np.random.Generator) -> Iterator[Index]:
    for start in range(0, count, at_once):
        orders = np.tile(np.arange(n), (min(at_once, count - start), 1))
        yield rng.permuted(orders, axis=1)
