"""Build an exchange design from `blocks`, `groups`, `within`, `shift` and others, also by matching on covariates."""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from shesha.inputs import validation as check
from shesha.inputs.class_labels import refuse_measurements_as_text
from shesha.nulls.restricted_permutations import Exchange
from shesha.support.device_arrays import to_host
from shesha.support.provenance import state
from shesha.support.seeds import generator
from shesha.support.types import Index, Matrix, Seed, Vector


def block_codes(n: int, blocks: ArrayLike | None) -> Index:
    """Return the code of each row's block; zeros without blocks."""
    if blocks is None:
        return np.zeros(n, dtype=np.intp)
    codes, names = check.labels(blocks, n, "blocks", min_classes=1)
    if len(names) == 1:
        state("blocks has one value in all rows, so it restricts nothing")
    return codes


def cross_codes(block: Index, stratum: Index) -> Index:
    """Number the combinations of the two codes."""
    codes: Index = np.unique(block * (stratum.max() + 1) + stratum, return_inverse=True)[1].astype(np.intp)
    return codes


MOST_ROWS = 10
"""Largest number of rows in a stratum that contains several values."""
_LEFT = 0.02
"""Largest sum of squares within strata, in units of the covariate's variance, per square root of the permutable rows.

Residual confounding shifts a similarity in proportion to the share of the variance within strata and to this square
root. With this limit, false-positive rates stay below 8 % even if the covariate has 32 times the variance of the noise.
"""
_FEWEST = 0.4, 6
"""Smallest share and smallest number of rows that must remain permutable; without permutations there is no test."""
_PRICES = np.logspace(0, 7, 36)
"""Prices that the search tries for one unit of the sum of squares, expressed in permutable rows."""
STRATUM = 10
"""Largest number of rows in a stratum of a covariate; larger strata leave residual confounding."""


@dataclass(frozen=True)
class _Sorted:
    """Cumulative sums over the sorted distinct values: row counts, and values and squares on two scales."""

    count: Vector
    sums: Matrix
    squares: Matrix

    @classmethod
    def build(cls, values: Vector) -> tuple[_Sorted, Index]:
        """Return the sums, and the index of each row's value among the distinct values."""
        distinct, place, count = np.unique(values, return_inverse=True, return_counts=True)
        # An effect may follow the covariate itself or a transformation, such as the logarithm of depth. Strata must
        # therefore be narrow both on the original scale and on the scale of normal scores, which depend only on ranks.
        scales = np.stack([distinct, ndtri((np.cumsum(count) - count / 2) / len(values))])
        scales = scales - (scales @ count / len(values))[:, None]
        scales = scales / np.sqrt(scales**2 @ count / len(values))[:, None]
        return cls(
            _running(count.astype(np.float64)), _running(scales * count), _running(scales**2 * count)
        ), place.astype(np.intp)

    def squares_inside(self, start: Index, stop: int | Index) -> Vector:
        """Sum of squares about the mean within each range of values, added over both scales."""
        count = self.count[stop] - self.count[start]
        total = self.squares[:, stop].T - self.squares[:, start].T
        return np.asarray((total - (self.sums[:, stop].T - self.sums[:, start].T) ** 2 / count[..., None]).sum(axis=-1))


def _running(values: Vector | Matrix) -> Matrix:
    return np.concatenate([np.zeros((*np.shape(values)[:-1], 1)), np.cumsum(values, axis=-1)], axis=-1)


def cut_into_strata(values: Vector) -> Index:
    """Cut a covariate into strata of similar values; isolated rows form strata by themselves.

    Dynamic programming finds the best cut into strata of at most ten rows. It maximises the number of permutable rows,
    minus a price for each unit of the sum of squares within strata. The price is the lowest one for which this sum is
    small relative to the spread of the null.

    Parameters
    ----------
    values : array of shape (n,)
        Values of the covariate, finite and not all equal. Equal values stay in the same stratum.

    Returns
    -------
    array of shape (n,)
        Code of each row's stratum; codes increase with the value.

    Examples
    --------
    >>> cut_into_strata(np.array([0.0, 0.1, 5.0, 5.1, 9.0, 9.1, 30.0, 2.0])).tolist()
    [0, 0, 1, 1, 1, 1, 2, 0]
    """
    values = np.asarray(values, dtype=np.float64) / np.abs(values).max()
    known, place = _Sorted.build(values)
    fewest = max(int(_FEWEST[0] * len(values)), min(len(values) - 2, _FEWEST[1]))
    before = _best_starts(known)
    cuts = _trace(before[:, 0])
    for price in range(len(_PRICES)):
        bounds = _trace(before[:, price])
        n_permuted = len(values) + 1 - len(bounds)
        if n_permuted < fewest:
            break
        cuts = bounds
        if known.squares_inside(bounds[:-1], bounds[1:]).sum() <= _LEFT * np.sqrt(n_permuted):
            break
    return np.asarray(np.searchsorted(cuts, place, side="right") - 1, dtype=np.intp)


def match_by_quantity(quantity: ArrayLike, name: str = "given values", blocks: ArrayLike | None = None) -> Exchange:
    """Design in which rows are permuted only among rows with similar values of a quantity.

    Strata have three rows if there are few rows, and up to ten if there are many. The reason is that the share of the
    quantity's variance within strata falls with the square of their width, whereas the spread of the null falls only
    with the number of rows.

    Parameters
    ----------
    quantity : array of shape (n,)
        Numbers or labels. Labels, and numbers with few distinct values, are used as strata directly.
    name : str
        Name of the quantity in the description of the design.
    blocks : array of shape (n,), optional
        Labels of blocks, within which rows are permuted as well. Default: no blocks.

    Returns
    -------
    Exchange

    Raises
    ------
    ValueError
        If the quantity and the blocks have different lengths.

    Examples
    --------
    >>> depth = [100, 900, 110, 950, 105, 1000]
    >>> found = match_by_quantity(depth, "depth")
    >>> found.text, found.block.tolist()
    ('rows of similar depth', [0, 1, 0, 1, 0, 1])
    """
    n = len(to_host(quantity))
    codes, values = check.labels(quantity, n, "keep", min_classes=1)
    n_strata = max(1, n // rows_of_a_stratum(n))
    if values.dtype.kind in "iuf" and len(values) > n_strata:
        codes = np.argsort(np.argsort(codes, kind="stable")) * n_strata // n
    named = [f"rows of similar {name}", *(["within blocks"] if blocks is not None else [])]
    return Exchange(n, cross_codes(block_codes(n, blocks), codes), named=tuple(named))


def rows_of_a_stratum(n: int) -> int:
    """Return the number of rows per stratum; docs/calibration.md contains the measurements behind it."""
    return min(STRATUM, max(3, isqrt(n) // 4))


def strata_within_blocks(within: ArrayLike, block: Index, groups: ArrayLike | None) -> Index:
    """Return a stratum per row; in each block, numbers with many values are cut into similar values."""
    n = len(block)
    codes, values = check.labels(within, n, "within", min_classes=1)
    refuse_measurements_as_text(values, n, "within")
    unit = np.arange(n) if groups is None else _units_of_one_value(groups, codes)
    n_units = int(unit.max()) + 1
    if values.dtype.kind not in "iuf" or len(values) <= max(2, n_units // rows_of_a_stratum(n_units)):
        return codes
    number = values.astype(np.float64)[codes]
    strata = np.zeros(n, dtype=np.intp)
    for code in np.unique(block):
        rows = np.flatnonzero(block == code)
        _, first, place = np.unique(unit[rows], return_index=True, return_inverse=True)
        quantities = number[rows[first]]
        if np.ptp(quantities) > 0:
            strata[rows] = cut_into_strata(quantities)[place]
    return strata


def _units_of_one_value(groups: ArrayLike, codes: Index) -> Index:
    """Return the groups as units if the covariate is constant within each group; otherwise the rows."""
    group = check.labels(groups, len(codes), "groups", min_classes=1)[0]
    same = len(np.unique(np.stack([group, codes]), axis=1).T) == group.max() + 1
    return group if same else np.arange(len(codes))


def _best_starts(known: _Sorted) -> Index:
    """Start of the last stratum in the best cut of the first i values: (n_values + 1, n_prices)."""
    n = len(known.count) - 1
    best, before = np.zeros((n + 1, len(_PRICES))), np.zeros((n + 1, len(_PRICES)), dtype=np.intp)
    first = np.minimum(np.searchsorted(known.count, known.count - MOST_ROWS), np.maximum(np.arange(n + 1) - 1, 0))
    for stop in range(1, n + 1):
        starts = np.arange(first[stop], stop)
        gained = known.count[stop] - known.count[starts] - 1
        worth = best[starts] + gained[:, None] - known.squares_inside(starts, stop)[:, None] * _PRICES
        chosen = worth.argmax(axis=0)
        best[stop], before[stop] = worth[chosen, np.arange(len(_PRICES))], starts[chosen]
    return before


def _trace(before: Index) -> Index:
    """Boundaries of the strata in increasing order, found by tracing back from the last stratum."""
    cuts = [len(before) - 1]
    while cuts[-1] > 0:
        cuts.append(int(before[cuts[-1]]))
    return np.array(cuts[::-1])


def match_by_distance(distances: Matrix, name: str, blocks: ArrayLike | None = None) -> Exchange:
    """Design in which each row is permuted only among rows with similar covariates.

    Rows are processed by their total distance to all rows, largest first. Each row that is not in a group yet forms one
    with its nearest rows, so that even outlying rows are grouped with their nearest rows. Rows with equal covariates
    stay in one group.

    Parameters
    ----------
    distances : array of shape (n, n)
        Distances between rows, computed from their covariates.
    name : str
        Name of the covariates in the description of the design.
    blocks : array of shape (n,), optional
        Labels of blocks, within which rows are permuted as well. Default: no blocks.

    Returns
    -------
    Exchange

    Examples
    --------
    >>> position = np.array([0.0, 9.0, 0.1, 9.1, 0.2, 9.2])
    >>> found = match_by_distance(abs(position[:, None] - position), "place")
    >>> found.text, found.block.tolist()
    ('rows of similar place', [1, 0, 1, 0, 1, 0])
    """
    n = len(distances)
    size = rows_of_a_stratum(n)
    codes = np.full(n, -1)
    code = 0
    for row in np.argsort(-distances.sum(axis=1), kind="stable"):
        if codes[row] >= 0:
            continue
        free = np.flatnonzero(codes < 0)
        codes[_group(distances[row, free], free, size)] = code
        code += 1
    named = (f"rows of similar {name}", *(["within blocks"] if blocks is not None else []))
    return Exchange(n, cross_codes(block_codes(n, blocks), codes), named=named)


def _group(near: Matrix, free: Index, size: int) -> Index:
    """Choose the nearest rows with ties; a remainder too small for another group is included."""
    if len(free) < 2 * size:
        return free[near <= 0] if (near <= 0).sum() >= size else free
    limit = np.partition(near, size - 1)[size - 1]
    # Identical rows must share a group; rows at an equal but nonzero distance need not.
    return free[near <= limit] if limit <= 0 else free[np.argsort(near, kind="stable")[:size]]


def exchange(
    n: int,
    *,
    blocks: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    within: ArrayLike | None = None,
    shift: bool = False,
    block_length: int | None = None,
) -> Exchange:
    """Define which rows are exchangeable under the null hypothesis of two unrelated representations.

    Parameters
    ----------
    n : int
        Number of rows.
    blocks : array of shape (n,), optional
        Labels of blocks, such as sessions, batches or laboratories. Rows are permuted only within their block.
    groups : array of shape (n,), optional
        Labels of groups, such as the trials of a subject. Groups are permuted as a whole, with their rows in order, and
        only among groups of equal size. Other permutations would match one group with parts of several groups and give
        too many false positives. Use `equal_groups` to select rows so that all groups are equally large.
    within : array of shape (n,), optional
        A covariate on which both sides depend, such as norm, depth or length. Rows are permuted only within its strata.
        Text, and numbers with few distinct values, are used as strata directly. Other numbers are cut, within each
        block, into strata of up to ten similar values; a group with a single value counts once. These strata are so
        narrow that the effect of the covariate within them is small relative to the null. Rows without a near neighbour
        are not permuted. For strong effects and few rows, `covariates=` has more power.
    shift : bool
        Whether each block is a time series, which is permuted by circular shifts of 0 to n - 1 rows. Use this for
        stationary series that are much longer than their memory.
    block_length : int, optional
        Number of rows per stretch, if each block is a time series. Stretches of consecutive rows are permuted; rows
        that remain at the end of a series are not. Use this for series whose memory is much shorter than a stretch.

    Returns
    -------
    Exchange

    Raises
    ------
    ValueError
        If labels do not match the number of rows, a group has rows in several blocks, or options are incompatible.

    Examples
    --------
    >>> import numpy as np
    >>> sessions = exchange(6, blocks=["a", "a", "a", "b", "b", "b"])
    >>> sessions.text, round(np.exp(sessions.log_count))
    ('within blocks', 36)
    >>> exchange(6, shift=True).draw(np.random.default_rng(0)).tolist()
    [5, 0, 1, 2, 3, 4]
    >>> exchange(6, groups=[0, 0, 1, 1, 2, 2]).resample(np.random.default_rng(1)).tolist()
    [0, 0, 2, 2, 1, 1]
    """
    check.boolean(shift, "shift")
    length = check.optional_count(block_length, "block_length")
    chosen = {"groups": groups is not None, "within": within is not None, "shift": shift, "block_length": bool(length)}
    for alone in ("shift", "block_length"):
        others = [name for name, there in chosen.items() if there and name != alone]
        if chosen[alone] and others:
            raise ValueError(f"{alone} must be used alone or with blocks, got also {' and '.join(others)}")
    block = block_codes(n, blocks)
    if within is not None:
        block = cross_codes(block, strata_within_blocks(within, block, groups))
    named = [text for text, labels in (("within blocks", blocks), ("within strata", within)) if labels is not None]
    if shift:
        return Exchange(n, block, shift=True, named=("circular shifts", *named))
    if length is not None:
        return Exchange(
            n,
            block,
            _stretches(block, length),
            False,
            block_length=length,
            named=(f"stretches of {length} rows", *named),
        )
    if groups is None:
        return Exchange(n, block, named=tuple(named))
    group = check.labels(groups, n, "groups", min_classes=1)[0]
    if len(np.unique(np.stack([group, block]), axis=1).T) > group.max() + 1:
        where = "blocks" if within is None else "blocks and strata"
        raise ValueError(f"groups must lie within {where}, got a group with rows in several {where}")
    return Exchange(n, block, group, named=(*named, "whole groups"))


def equal_groups(groups: ArrayLike, size: int | None = None, *, seed: Seed = None) -> Index:
    """Choose rows at random so that all groups are equally large, which allows all groups to be permuted.

    Parameters
    ----------
    groups : array of shape (n,)
        Labels of the groups.
    size : int, optional
        Number of rows to choose from each group; smaller groups are left out. Default: the size of the smallest group.
    seed : int, Generator or None
        Seed for the random choice.

    Returns
    -------
    array of row numbers
        The chosen rows, in increasing order. Pass on `X[rows]`, `Y[rows]` and `groups[rows]`.

    Examples
    --------
    >>> import numpy as np
    >>> donor = np.array(["a", "a", "b", "b", "b", "c", "c"])
    >>> donor[equal_groups(donor, seed=0)].tolist()
    ['a', 'a', 'b', 'b', 'c', 'c']
    """
    codes = check.labels(groups, len(to_host(groups)), "groups", min_classes=1)[0]
    sizes = np.bincount(codes)
    least = int(sizes.min()) if size is None else check.count(size, "size")
    if least > sizes.max():
        raise ValueError(f"size must be at most that of the largest group ({sizes.max()}), got {least}")
    rng = generator(seed)
    kept = [rng.choice(np.flatnonzero(codes == code), least, replace=False) for code in np.flatnonzero(sizes >= least)]
    return np.sort(np.concatenate(kept))


def _stretches(block: Index, length: int) -> Index:
    """Number the consecutive stretches within each block."""
    place = np.empty(len(block), dtype=np.intp)
    for code in np.unique(block):
        rows = np.flatnonzero(block == code)
        place[rows] = np.arange(len(rows)) // length
    return cross_codes(block, place)
