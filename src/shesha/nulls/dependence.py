"""Detection of dependence between rows: similar neighbouring rows, and repeated rows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import erfc, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shesha.inputs import validation as check
from shesha.kernels.repeated_rows import repeats
from shesha.kernels.sorting import insertion_places
from shesha.nulls.near_repeats import find_near_repeats
from shesha.nulls.periodicity import find_period
from shesha.nulls.sampled_rows_for_checks import FEWEST_ROWS, DiagnosticRows
from shesha.nulls.series_memory import memory_in_rows, persistence
from shesha.results import Dependence
from shesha.results.audit.dependence import LEVEL
from shesha.support.types import Index, Matrix, Vector

_N_ORDERS = 60
"""Number of random permutations to which the given order is compared."""
_N_RANKED = 2000
"""Number of random pairs of rows. All distances are replaced by their ranks among the distances of these pairs."""
_DISCRETE, _TIED, _COLUMNS = 0.1, 0.5, 16
"""Limits for treating a representation as discrete, such as codes or counts.

In order: the share of rows that are distinct, the ratio of distinct values in a column to distinct rows, and the number
of columns that are examined.
"""


def dependence(*representations: NDArray[Any]) -> Dependence:
    """Detect dependence between rows.

    Permuting all rows is invalid if rows depend on one another in both of the compared representations. Therefore, only
    dependence that all representations show is reported. The distances between neighbouring rows are ranked and
    compared with those in random orders. This detects time series, drifts, batches or classes in sequence, and trials
    that were recorded twice in a row. The test uses at most 512 rows, in stretches of 128; exact repeats are searched
    for in all rows. It does not detect dependent rows that are far apart, such as subjects in random order.

    Parameters
    ----------
    *representations : arrays of shape (n_samples, n_features)
        Finite features of the same rows, in the order of recording.

    Returns
    -------
    Dependence
        The signs of dependence. `text` describes them and names the options to pass.

    Raises
    ------
    ValueError
        If no representation is passed, or if the numbers of rows differ.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> print(dependence(rng.standard_normal((200, 8))))
    no sign that rows depend on one another
    >>> walk = rng.standard_normal((200, 8)).cumsum(axis=0)
    >>> found = dependence(walk)
    >>> found.has_order, found.has_repeats, found.is_short(200)
    (True, False, True)
    """
    if not representations:
        raise ValueError("representations must contain at least one, got none")
    sides = [check.raw_matrix(side, "representations", min_rows=1) for side in representations]
    n = len(sides[0])
    if any(len(side) != n for side in sides):
        raise ValueError(f"representations must have the same rows, got {', '.join(str(len(side)) for side in sides)}")
    return find_dependence([DiagnosticRows(side) for side in sides])


def find_dependence(sides: Sequence[DiagnosticRows], *, screened: bool = False) -> Dependence:
    """Detect dependence between rows, using inner products that other checks share.

    With `screened`, steps that cannot change a sign are skipped: once a representation has no close neighbours, the
    remaining ones are not examined, and the memory is not computed if there is no sign. The signs are the same, but
    numbers without a sign may differ.
    """
    n, windows, rows = sides[0].n_rows, sides[0].windows, sides[0].rows
    repeated = repeats(_joint_hashes([side.hashes for side in sides]))
    repeated = repeated[np.any([side.side[repeated].any(axis=1) for side in sides], axis=0)]
    if n < FEWEST_ROWS:
        discrete = any(_is_discrete(side) for side in sides)
        return Dependence(n, 1.0, 0.5, 0.0, tuple(repeated.tolist()), (), len(rows), discrete)
    p_value, closeness, alternation = _order_signs(sides, windows, screened=screened)
    lasting = not screened or p_value <= LEVEL
    near = find_near_repeats([side.gram for side in sides], ~np.isin(rows, repeated))
    # Whether values are discrete matters only if rows repeat.
    discrete = bool(not screened or len(near) or len(repeated)) and any(_is_discrete(side) for side in sides)
    near = near[:0] if discrete else near
    return Dependence(
        n,
        p_value,
        closeness,
        memory_in_rows([side.gram for side in sides], windows) if lasting else 0.0,
        tuple(repeated.tolist()),
        tuple(rows[near].tolist()),
        len(rows),
        discrete,
        min(persistence(side) for side in sides) if lasting else 0.0,
        find_period(*(side.side for side in sides)),
        alternation,
    )


def _order_signs(
    sides: Sequence[DiagnosticRows], windows: list[Index], *, screened: bool
) -> tuple[float, float, float]:
    """p-value and mean rank of distances between neighbours, and p-value of rows two apart, of the weakest side."""
    near, alternations = [], []
    for side in sides:
        near.append(_neighbours(side.squared, windows))
        alternations.append(_neighbours(side.squared, windows, lag=2)[0])
        if screened and min(near[-1][0], alternations[-1]) > LEVEL:
            break
    return *max(near), max(alternations)


def _closer(ranks: Vector) -> float:
    """p-value of the first mean rank relative to those under permutations; a small rank means close."""
    return p_of_first(-ranks)


def p_of_first(values: Vector) -> float:
    """Normal p-value of the first number among draws, for large values; 1 if all are equal."""
    spread = float(values[1:].std(ddof=1))
    if not spread > 1e-9:
        return 1.0
    # The mean of the draws is itself an estimate, so its error is added to their spread.
    z = (values[0] - values[1:].mean()) / (spread * sqrt(1 + 1 / (len(values) - 1)))
    return 0.5 * erfc(float(z) / sqrt(2))


def _joint_hashes(hashes: Sequence[NDArray[np.uint64]]) -> NDArray[np.uint64]:
    """Combine the hashes of each row in all representations."""
    codes = np.zeros(len(hashes[0]), dtype=np.uint64)
    for row_hashes in hashes:
        codes = codes * np.uint64(0x9E3779B97F4A7C15) + row_hashes
    return codes


def _is_discrete(sample: DiagnosticRows) -> bool:
    side, rows, hashes = sample.side, sample.rows, sample.hashes[sample.rows]
    n_different = len(np.unique(hashes))
    columns = np.unique(np.linspace(0, side.shape[1] - 1, _COLUMNS).astype(np.intp))
    values = np.array(side[rows][:, columns].T, order="C")
    values.sort(axis=1)
    n_values = np.median(1 + np.count_nonzero(values[:, 1:] != values[:, :-1], axis=1))
    return bool(n_different < _DISCRETE * len(hashes) or n_values <= _TIED * n_different)


def _neighbours(squared: Matrix, windows: list[Index], lag: int = 1) -> tuple[float, float]:
    """p-value and mean rank of the distances between neighbours, or between rows at the given lag."""
    places, ranked = _shuffled_neighbours(tuple(len(window) for window in windows), lag)
    distances = squared.ravel()
    ranks = _ranks(distances[places], np.sort(distances[ranked])).mean(axis=1)
    # If all distances are equal, the mean rank is 0.5.
    return _closer(ranks), float(ranks[0]) if ranks[1:].std() > 1e-9 else 0.5


@lru_cache(maxsize=8)
def _shuffled_neighbours(lengths: tuple[int, ...], lag: int) -> tuple[Index, Index]:
    """Indices of neighbouring pairs in the given and in permuted orders, and indices of random pairs."""
    rng, n = np.random.default_rng(0), sum(lengths)
    first, second = pairs_of_places([np.arange(length) for length in lengths], lag)
    ranked = np.ravel_multi_index(_different(n, rng), (n, n))
    orders = np.array([np.arange(n), *(rng.permutation(n) for _ in range(_N_ORDERS))])
    return np.ravel_multi_index((orders[:, first], orders[:, second]), (n, n)), ranked


def pairs_of_places(windows: list[Index], lag: int = 1) -> tuple[Index, Index]:
    """Indices of the pairs of neighbours, or of rows at the given lag, within each window."""
    ends = np.cumsum([len(window) for window in windows])
    first = np.setdiff1d(np.arange(ends[-1]), (ends[:, None] - np.arange(1, lag + 1)).ravel())
    return first, first + lag


def _different(n: int, rng: np.random.Generator) -> tuple[Index, Index]:
    first = rng.integers(n, size=_N_RANKED)
    return first, (first + rng.integers(1, n, size=_N_RANKED)) % n


def _ranks(values: Matrix, ranked: Vector) -> Matrix:
    """For each value, the share of the ranked values that are smaller; ties count half."""
    levels, counts = np.unique(ranked, return_counts=True)
    below = np.append(0, np.cumsum(counts))
    place = insertion_places(levels, values)
    shares: Matrix = (below[place] + below[place + (np.append(levels, np.nan)[place] == values)]) / (2 * len(ranked))
    return shares
