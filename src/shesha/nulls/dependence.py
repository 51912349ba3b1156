"""Detection of dependent rows: similar neighbouring rows, and repeated rows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import erfc, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shesha.inputs import validation as check
from shesha.kernels.repeated_rows import repeats
from shesha.kernels.searchsorted import insertion_places
from shesha.nulls.near_repeats import find_near_repeats
from shesha.nulls.periodicity import find_period
from shesha.nulls.restricted_permutations import Exchange
from shesha.nulls.sampled_rows_for_checks import FEWEST_ROWS, DiagnosticRows
from shesha.nulls.series_memory import memory_in_rows, persistence
from shesha.results import Dependence
from shesha.results.audit.dependence import LEVEL
from shesha.support.types import Index, Matrix, Vector

_N_ORDERS = 60
"""Number of random permutations for comparison with the given order."""
_N_RANKED = 2000
"""Number of random pairs of rows. Other distances are replaced by their ranks among the distances of these pairs."""
_MOST_ROWS = 4096
"""Maximum number of rows whose neighbours are compared with permutations of a design."""
_DISCRETE, _TIED, _COLUMNS = 0.1, 0.5, 16
"""Limits for a representation with few values, such as codes or counts.

They are the share of rows that are distinct, the ratio of distinct values in some columns to distinct rows, and the
number of these columns.
"""


def dependence(*representations: NDArray[Any]) -> Dependence:
    """Detect dependence between rows.

    Permuting all rows is invalid if rows depend on one another in both compared representations. Only dependence that
    all representations show is therefore reported. The ranks of distances between neighbouring rows are compared with
    those in random orders. This detects series, drifts, batches or classes in sequence, and trials recorded twice in a
    row. The test uses at most 512 rows, in stretches of 128; exact repeats are searched in all rows. It does not
    detect dependent rows that are far apart, such as interleaved subjects.

    Parameters
    ----------
    *representations : arrays of shape (n_samples, n_features)
        Finite features of the same rows, in the order in which the rows were recorded.

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
    """Detect dependence between rows, from inner products that other checks share.

    With `screened`, steps that cannot change a sign are skipped: the representations after the first one without close
    neighbours, and the memory of rows without a sign. The signs are the same, but numbers without a sign may differ.
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
    # Discrete values matter only if rows repeat.
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
    """p-value and mean rank of distances between neighbours, and p-value of an alternation, of the weakest side."""
    near, alternations = [], []
    for side in sides:
        near.append(_neighbours(side.squared, windows))
        alternations.append(_alternation(side.squared, near[-1][0], windows))
        if screened and min(near[-1][0], alternations[-1]) > LEVEL:
            break
    return *max(near), max(alternations)


def p_value_within_design(design: Exchange, *representations: NDArray[Any]) -> float:
    """Test whether neighbouring rows are closer than in the permutations of a design; return the p-value.

    The rows that a design permutes must be exchangeable, which dependent neighbours in a block are not. As in
    `dependence`, all representations must show the effect, so the largest p-value is returned.

    Parameters
    ----------
    design : Exchange
        Design whose permutations are compared with the given order.
    *representations : arrays of shape (n_samples, n_features)
        Features of the same rows, in the order in which the rows were recorded.

    Examples
    --------
    >>> import numpy as np
    >>> from shesha.nulls import exchange
    >>> walk = np.random.default_rng(0).standard_normal((64, 8)).cumsum(axis=0)
    >>> p_value_within_design(exchange(64, blocks=np.arange(64) // 8), walk) < 0.002
    True
    """
    rows = np.arange(min(design.n_rows, _MOST_ROWS))
    some, rng = design.take(rows), np.random.default_rng(0)
    if len(rows) < FEWEST_ROWS:
        return 1.0
    orders = np.array([rows, *(some.draw(rng) for _ in range(_N_ORDERS))])
    first, second = _different(len(rows), rng)
    p_values = []
    for side in representations:
        X = np.asarray(side[rows], dtype=np.float64)
        X = X / (np.abs(X).max(initial=0.0) or 1.0)
        ranked = np.sort(((X[first] - X[second]) ** 2).sum(axis=1))
        squared = np.array([(np.diff(X[order], axis=0) ** 2).sum(axis=1) for order in orders])
        p_values.append(_closer(_ranks(squared, ranked).mean(axis=1)))
    return max(p_values)


def _closer(ranks: Vector) -> float:
    """p-value of the first mean rank relative to the ranks under permutations; a small rank means close."""
    return p_of_first(-ranks)


def p_of_first(values: Vector) -> float:
    """Normal p-value of the first number among draws, for large values; 1 if all are equal."""
    spread = float(values[1:].std(ddof=1))
    if not spread > 1e-9:
        return 1.0
    # The mean of the draws is an estimate, and its error adds to their spread.
    z = (values[0] - values[1:].mean()) / (spread * sqrt(1 + 1 / (len(values) - 1)))
    return 0.5 * erfc(float(z) / sqrt(2))


def _joint_hashes(hashes: Sequence[NDArray[np.uint64]]) -> NDArray[np.uint64]:
    """Hash of a row in all representations."""
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


def _alternation(squared: Matrix, p_near: float, windows: list[Index]) -> float:
    """p-value for an alternation: neighbours are farther apart than random rows, rows two apart are closer."""
    farther = 1.0 - p_near
    return farther if farther > LEVEL else max(farther, _neighbours(squared, windows, lag=2)[0])


def _neighbours(squared: Matrix, windows: list[Index], lag: int = 1) -> tuple[float, float]:
    """p-value and mean rank of the distances between neighbours, or of rows at a given lag."""
    places, ranked = _shuffled_neighbours(tuple(len(window) for window in windows), lag)
    distances = squared.ravel()
    ranks = _ranks(distances[places], np.sort(distances[ranked])).mean(axis=1)
    # If all distances are equal, the mean rank is 0.5.
    return _closer(ranks), float(ranks[0]) if ranks[1:].std() > 1e-9 else 0.5


@lru_cache(maxsize=4)
def _shuffled_neighbours(lengths: tuple[int, ...], lag: int) -> tuple[Index, Index]:
    """Indices of neighbouring pairs in the given and in permuted orders, and of random pairs."""
    rng, n = np.random.default_rng(0), sum(lengths)
    first, second = pairs_of_places([np.arange(length) for length in lengths], lag)
    ranked = np.ravel_multi_index(_different(n, rng), (n, n))
    orders = np.array([np.arange(n), *(rng.permutation(n) for _ in range(_N_ORDERS))])
    return np.ravel_multi_index((orders[:, first], orders[:, second]), (n, n)), ranked


def pairs_of_places(windows: list[Index], lag: int = 1) -> tuple[Index, Index]:
    """Indices of neighbours, or of rows at a given lag, within all windows."""
    ends = np.cumsum([len(window) for window in windows])
    first = np.setdiff1d(np.arange(ends[-1]), (ends[:, None] - np.arange(1, lag + 1)).ravel())
    return first, first + lag


def _different(n: int, rng: np.random.Generator) -> tuple[Index, Index]:
    first = rng.integers(n, size=_N_RANKED)
    return first, (first + rng.integers(1, n, size=_N_RANKED)) % n


def _ranks(values: Matrix, ranked: Vector) -> Matrix:
    """Share of the ranked values that are smaller; ties count half."""
    levels, counts = np.unique(ranked, return_counts=True)
    below = np.append(0, np.cumsum(counts))
    place = insertion_places(levels, values)
    shares: Matrix = (below[place] + below[place + (np.append(levels, np.nan)[place] == values)]) / (2 * len(ranked))
    return shares
