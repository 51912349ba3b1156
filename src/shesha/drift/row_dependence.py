"""Detect rows that depend on their neighbours, on which the bounds on false alarms do not hold."""

from __future__ import annotations

from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from shesha.kernels.repeated_rows import hash_rows, repeats, row_hashes
from shesha.nulls.dependence import dependence, p_of_first
from shesha.results.doubts import LEVEL
from shesha.support.types import Labels, Matrix, Vector

BLOCK = 12
"""Number of consecutive rows that are compared with each other."""
FEWEST_DEPENDENT = 4 * BLOCK
"""Smallest number of rows in which dependence is looked for."""
_MOST_BLOCKS, _N_ORDERS, _CLIP = 64, 199, 2.5
_MATERIAL = 0.1
"""Smallest share by which consecutive rows are closer that is reported."""
_REPEATED = 0.1
"""Smallest share of rows that repeat an earlier row that is reported; a few inputs occur twice in most streams."""
_SMALL = 1e-3
"""Smallest p-value that is shown as it is, because it comes from a normal approximation."""
_MEMORIES = 3
"""Number of memories between rows that count as independent."""


def neighbour_dependence(rows: Matrix) -> tuple[float, float]:
    """Return by how much consecutive rows are closer than all rows of a block of twelve, and the p-value.

    The first number is 1 minus the ratio of the squared distances, in the median block: about 0 for independent rows.

    Only the order within blocks is permuted, so neither sorted rows nor a change of the distribution is dependence.
    The statistic of a block is limited, so a change inside one block has little influence. Fewer than 48 rows give 1.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows = rng.standard_normal((120, 4))
    >>> neighbour_dependence(rows)[1] > 0.01, neighbour_dependence(np.sort(rows, axis=0))[1] < 1e-6
    (True, True)
    >>> shifted = np.concatenate([rows[:60], rows[60:] + 5])
    >>> neighbour_dependence(shifted)[1] > 0.01
    True
    """
    n_blocks = min(len(rows) // BLOCK, _MOST_BLOCKS)
    if len(rows) < FEWEST_DEPENDENT:
        return 0.0, 1.0
    starts = np.linspace(0, len(rows) - BLOCK, n_blocks).astype(np.intp)
    blocks = np.asarray(rows, dtype=np.float64)[starts[:, None] + np.arange(BLOCK)]
    scale = float(np.abs(blocks).max()) or 1.0
    blocks = (blocks - blocks.mean(axis=1, keepdims=True)) / scale
    products = blocks @ blocks.transpose(0, 2, 1)
    lengths = np.diagonal(products, axis1=1, axis2=2)
    squared = lengths[:, :, None] + lengths[:, None, :] - 2 * products
    upper = np.triu_indices(BLOCK, 1)
    ranks = np.empty_like(squared)
    # Ranks make one distant row no more important than another.
    order = rankdata(squared[:, *upper], axis=1)
    ranks[:, upper[0], upper[1]] = ranks[:, upper[1], upper[0]] = order
    rng = np.random.default_rng(0)
    orders = np.array([np.arange(BLOCK), *(rng.permutation(BLOCK) for _ in range(_N_ORDERS))])
    closeness = -ranks[:, orders[:, :-1], orders[:, 1:]].mean(axis=2)
    spread = closeness[:, 1:].std(axis=1, keepdims=True)
    z = (closeness - closeness[:, 1:].mean(axis=1, keepdims=True)) / np.where(spread > 0, spread, 1.0)
    # Each block is permuted by other orders, so that the sums over blocks are sums of independent values.
    shuffled = np.array([np.roll(of_block[1:], 17 * number) for number, of_block in enumerate(z)])
    sums: Vector = np.clip(np.column_stack([z[:, 0], shuffled]), -_CLIP, _CLIP).sum(axis=0)
    means = squared[:, *upper].mean(axis=1)
    near = squared[:, np.arange(BLOCK - 1), np.arange(1, BLOCK)].mean(axis=1)
    closer = float(np.median(1 - near / np.where(means > 0, means, 1.0)))
    return (closer, p_of_first(sums)) if (means > 0).any() else (0.0, 1.0)


def dependence_text(rows: Matrix, what: str, unit: str = "row", *, group_advice: bool = True) -> str:
    """Describe that rows depend on their neighbours or repeat others, and what to do; empty without a sign of it.

    Parameters
    ----------
    rows : array of shape (n, n_features)
        Rows in their order.
    what : str
        The rows in words, such as 'reference'.
    unit : str
        What a row stands for: a row of the input, or a group.
    group_advice : bool
        Whether the groups of dependent rows can be passed.
    """
    repeated = repeats(row_hashes(rows))
    if len(repeated) >= _REPEATED * len(rows) and unit == "row":
        return f"{len(repeated):,} of {len(rows):,} rows of the {what} repeat an earlier row. Keep one row of each"
    closer, p = neighbour_dependence(rows)
    # In many rows, a dependence that hardly changes any rate is significant as well.
    if p > LEVEL or closer < _MATERIAL:
        return ""
    memory = dependence(rows).memory
    step = max(2, ceil(_MEMORIES * memory))
    if unit == "group":
        advice = f"Use larger groups, or keep one group in {step}"
    elif group_advice:
        advice = (
            f"Pass groups= (--groups) if rows share a document, clip or session; in a series, keep one row in {step}"
        )
    else:
        advice = (
            f"Pass one row, such as the mean, of each document, clip or session; in a series, keep one row in {step}"
        )
    significance = f"p = {p:.1g}" if p >= _SMALL else f"p < {_SMALL:g}"
    return (
        f"consecutive {unit}s of the {what} depend on each other ({significance}), unless they were only sorted, for "
        f"example by class. {advice}"
    )


def group_means(rows: Matrix, groups: Labels) -> Matrix:
    """Return the mean row of each group, in the order of the groups' first rows.

    Examples
    --------
    >>> group_means(np.array([[1.0], [3.0], [8.0]]), np.array([5, 5, 2]))
    array([[2.],
           [8.]])
    """
    codes, first, place = np.unique(groups, return_index=True, return_inverse=True)
    sums = np.zeros((len(codes), rows.shape[1]))
    np.add.at(sums, place, rows)
    means: Matrix = (sums / np.bincount(place)[:, None])[np.argsort(first)]
    return means


_FEWEST_EQUAL, _EQUAL, _LOOKED_AT = 3, 0.05, 1 << 28
"""Smallest number and share of equal rows that are counted, and largest number of bytes that are looked at."""


def n_equal_rows(reference: Any, window: Any) -> int:
    """Return how many rows of two samples have equal values; 0 if these are few, or if rows repeat in each sample.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((50, 4))
    >>> n_equal_rows(X, X[40:]), n_equal_rows(X[:40], X[40:]), n_equal_rows(X > 0, X[40:] > 0)
    (10, 0, 0)
    """
    arrays = [np.asarray(side) for side in (reference, window) if getattr(side, "nbytes", 0) <= _LOOKED_AT]
    if len(arrays) < 2 or any(one.ndim != 2 or one.dtype.kind not in "fiu" for one in arrays):
        return 0
    if max(np.abs(one).max(initial=0) for one in arrays) > np.finfo(np.float32).max:
        return 0
    return n_equal_hashes(*map(short_hashes, arrays))


ShortHashes = NDArray[np.uint32]
_HASHED = 4096
"""Number of rows that are hashed at once."""


def short_hashes(rows: NDArray[Any]) -> ShortHashes:
    """Hash each row, rounded to single precision, to 32 bits; hardly any of thousands of rows agree by chance."""
    hashes = np.zeros(len(rows), dtype="<u4")
    for start in range(0, len(rows), _HASHED):
        with np.errstate(over="ignore"):
            some = rows[start : start + _HASHED].astype(np.float32)
        hashes[start : start + _HASHED] = hash_rows(some) >> np.uint64(32)
    return hashes


def n_equal_hashes(first: ShortHashes, second: ShortHashes) -> int:
    """Return how many hashes of the second sample occur in the first; 0 if few do, or if they repeat in a sample."""
    n_rows = min(len(first), len(second))
    n_shared = min(int(np.isin(second, first).sum()), n_rows)
    # Counts and binary features repeat within a sample as well.
    n_repeated = max(len(hashes) - len(np.unique(hashes)) for hashes in (first, second))
    return 0 if n_shared < max(_FEWEST_EQUAL, _EQUAL * n_rows) or 2 * n_repeated > n_shared else n_shared
