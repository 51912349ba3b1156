"""Detection of dependence between rows (similar neighbours, repeats, periods, memory) in a sample of the rows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property, lru_cache
from itertools import pairwise
from math import erfc, log, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shesha.inputs import Names, validation as check
from shesha.kernels.repeated_rows import Hashes, repeats, row_hashes
from shesha.kernels.sorting import insertion_places
from shesha.results import Dependence
from shesha.results.doubts import LEVEL
from shesha.support.types import Index, Labels, Mask, Matrix, Vector

FEWEST_ROWS = 12
"""Smallest number of rows in which dependence can be detected."""
_WINDOWS, _WINDOW = 4, 128
"""Number and length of the stretches of consecutive rows that are checked if there are many rows."""


class DiagnosticRows:
    """Four stretches of consecutive rows from one representation; all rows if there are few."""

    def __init__(self, side: NDArray[Any]) -> None:
        self.side = side

    @property
    def n_rows(self) -> int:
        """Total number of rows."""
        return len(self.side)

    @cached_property
    def windows(self) -> list[Index]:
        """Row numbers of each stretch."""
        return stretches(self.n_rows, _WINDOW)

    @cached_property
    def rows(self) -> Index:
        """Row numbers of all checked rows, in order."""
        return np.concatenate(self.windows)

    @cached_property
    def gram(self) -> Matrix:
        """Inner products of the checked rows, after centring and division by their largest number."""
        centred = np.asarray(self.side[self.rows], dtype=np.float64)
        # Without the division, squares of large numbers would overflow.
        self._unit = largest(centred)
        centred /= self._unit
        self._middle: Vector = centred.mean(axis=0)
        centred -= self._middle
        return np.asarray(centred @ centred.T)

    @cached_property
    def hashes(self) -> Hashes:
        """Hash of every row."""
        return row_hashes(self.side)

    @cached_property
    def squared(self) -> Matrix:
        """Squared distances between the checked rows, in the unit of `gram`."""
        return squared_distances(self.gram)

    def products(self, rows: Index) -> Matrix:
        """Inner products of any rows, centred on the mean of the checked rows.

        Products are not finite if a row outside the sample is too large for the unit of the sample.
        """
        gram, places = self.gram, np.searchsorted(self.rows, rows)
        new = np.append(self.rows, -1)[places] != rows
        places[new] = 0
        products = gram[np.ix_(places, places)]
        if new.any():
            with np.errstate(over="ignore", invalid="ignore"):
                across = self._centred(rows[new]) @ self._centred(rows).T
            products[new] = across
            products[:, new] = across.T
        return products

    def _centred(self, rows: Index) -> Matrix:
        centred = np.asarray(self.side[rows], dtype=np.float64)
        centred /= self._unit
        centred -= self._middle
        return centred


def stretches(n: int, length: int = _WINDOW) -> list[Index]:
    """Return four evenly spaced stretches of consecutive rows; all rows if there are few."""
    if n <= _WINDOWS * length:
        return [np.arange(n)]
    starts = np.linspace(0, n - length, _WINDOWS).astype(np.intp)
    return [np.arange(start, start + length) for start in starts]


def largest(X: Matrix) -> float:
    """Return the largest absolute value; 1 if all values are zero."""
    return max(float(X.max(initial=0.0)), -float(X.min(initial=0.0))) or 1.0


def squared_distances(gram: Matrix) -> Matrix:
    """Squared distances between rows, from their inner products."""
    lengths = np.diagonal(gram)
    distances: Matrix = lengths[:, None] + lengths
    distances -= 2 * gram
    return np.maximum(distances, 0.0, out=distances)


_CHANCE = 1e-4
"""Expected number of near repeats that are reported by chance."""
_LARGEST_SET, _TIGHT, _MOST = 8, 3.0, 0.5
"""Largest set of near repeats, how many times farther other rows are, and share of rows in sets that is reported."""
_ROUNDING = 64 * float(np.finfo(float).eps)
"""Rounding error in a squared distance, relative to the squared lengths from which it is computed."""
_EVERY = 8
"""Step between the rows that are used to estimate the typical distance."""


def find_near_repeats(grams: Sequence[Matrix], kept: Mask) -> Index:
    """Return the rows whose nearest row, or nearest few, are much nearer than the others and the dimension suggest.

    If rows are distributed evenly in k dimensions, the logarithm of the ratio of the second-nearest to the nearest
    distance is exponential with rate k (Facco et al. 2017). For the ratio of the third to the second distance, the rate
    is 2 k, and so on. The medians of these later logarithms estimate k even if there are repeats. Sets of three rows
    and more, such as augmented copies of one input, count if most rows belong to one, because a few may be a small
    class.
    """
    places = np.flatnonzero(kept)
    if len(places) < FEWEST_ROWS:
        return places[:0]
    total = np.zeros((len(places), len(places)))
    for gram in grams:
        part = gram if kept.all() else gram[np.ix_(places, places)]
        total += part * (1 / (_middle_distance(part) or 1.0))
    # Computed in place, because allocating memory for millions of numbers takes longer than adding them up.
    lengths = np.diagonal(total).copy()
    total *= -2
    total += lengths
    total += lengths[:, None]
    np.fill_diagonal(total, np.inf)
    # Smaller squared distances are rounding errors of the Gram matrix; these grow if a distant row shifts the mean.
    rounding = np.maximum(1e-13, _ROUNDING * lengths)[:, None]
    nearest = np.log(np.maximum(_smallest(total, _LARGEST_SET + 1), rounding)) / 2
    gaps = np.diff(nearest, axis=1)
    # In sets of three rows, the ratio of the third to the second distance is large, but not that of the fourth.
    rates = [(place + 1) * float(np.median(gaps[:, place])) for place in range(1, min(3, gaps.shape[1]))]
    limit = _largest_gap(min(rates), len(places))
    if limit <= 0:
        return places[:0]
    tight = np.maximum(limit / np.arange(2, gaps.shape[1] + 1), log(_TIGHT))
    in_sets = (gaps[:, 1:] > tight).any(axis=1)
    near = gaps[:, 0] > limit
    return places[near | in_sets if np.mean(near | in_sets) >= _MOST else near]


def _largest_gap(median: float, n_rows: int) -> float:
    """Return the gap that hardly any of the rows exceeds by chance, from the median of exponential gaps."""
    return median / log(2) * log(n_rows / _CHANCE)


def share_of_near_repeats(sides: Sequence[NDArray[Any]]) -> float:
    """Return the share of random rows whose nearest row, among all, is as near as a repeat (see `find_near_repeats`).

    Unlike `find_near_repeats`, which looks at neighbouring rows, this finds copies that are far apart, such as one
    cell in two batches.
    """
    n = len(sides[0])
    if not FEWEST_ROWS <= n <= _MOST_SEARCHED:
        return 0.0
    rows = np.sort(np.random.default_rng(0).choice(n, min(n, _SEARCHED), replace=False))
    total = np.zeros((len(rows), n))
    for side in sides:
        values = np.asarray(side, dtype=np.float64).reshape(n, -1)
        values = (values - values.mean(axis=0)) / largest(values)
        lengths = np.einsum("ij,ij->i", values, values)
        squared = lengths[rows, None] + lengths - 2 * values[rows] @ values.T
        total += squared / (float(np.median(squared)) or 1.0)
    total[np.arange(len(rows)), rows] = np.inf
    nearest = np.log(np.maximum(np.sort(np.partition(total, 2, axis=1)[:, :3], axis=1), 1e-13)) / 2
    gaps = np.diff(nearest, axis=1)
    limit = _largest_gap(2 * float(np.median(gaps[:, 1])), len(rows))
    return float(np.mean(gaps[:, 0] > limit)) if limit > 0 else 0.0


_SEARCHED, _MOST_SEARCHED = 256, 20_000
"""Number of rows whose copies are searched, and largest number of rows among which they are."""


def _middle_distance(gram: Matrix) -> float:
    """Median squared distance from some rows to all rows (the upper median for even numbers)."""
    lengths = np.diagonal(gram)
    squared = lengths[::_EVERY, None] + lengths - 2 * gram[::_EVERY]
    half = squared.size // 2
    return float(np.partition(squared, half, axis=None)[half])


def _smallest(matrix: Matrix, most: int) -> Matrix:
    """Return the smallest numbers in each row, up to a third of them, in order; the matrix is overwritten."""
    rows = np.arange(len(matrix))
    minima = np.empty((len(matrix), max(3, min(most, len(matrix) // 3))))
    for place in range(minima.shape[1]):
        smallest = matrix.argmin(axis=1)
        minima[:, place] = matrix[rows, smallest]
        matrix[rows, smallest] = np.inf
    return minima


FEWEST_PERIODS = 3
"""Smallest number of periods that a series must contain for the period to be detected."""
_MOST_ROWS = 1024
"""Largest number of consecutive rows that are examined."""
_MOST_COLUMNS = 16
"""Largest number of features that are examined directly; if there are more, random combinations are used."""
_PARTS = 8
"""Number of parts of a series whose phases must agree for a period to be reported."""
_AGREEMENT = 0.8
_SHARE = 0.08
"""Smallest share of the variance that one frequency must explain for a period to be reported."""
_LEAST = 1e-280
"""If the largest number is below this limit, smaller numbers may have lost digits."""
_PADDING = 16
"""Factor by which frequencies are oversampled, because a slightly wrong frequency would shift the phase along the
series."""


def find_period(*representations: NDArray[Any]) -> float:
    """Return the period, in rows, that all representations share; 0 if there is none.

    A period is reported if its frequency explains enough of the variance and keeps its phase over the whole series.

    Parameters
    ----------
    *representations : arrays of shape (n_samples, n_features)
        Finite features of the same rows, in the order of recording.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> wave = np.sin(2 * np.pi * np.arange(200)[:, None] / 24.3 + np.arange(5))
    >>> round(find_period(wave + rng.standard_normal((200, 5))))
    24
    >>> find_period(rng.standard_normal((200, 5)).cumsum(axis=0))
    0.0
    """
    n = min(_MOST_ROWS, *(len(side) for side in representations))
    if n < _PARTS * 2:
        return 0.0
    frequencies = []
    for side in representations:
        frequencies.append(_frequency(_standardise(side[:n])))
        if not frequencies[-1] > 0:
            return 0.0
    spread = max(frequencies) - min(frequencies)
    return 1.0 / float(np.mean(frequencies)) if spread <= 1 / n else 0.0


def _frequency(rows: Matrix) -> float:
    """Return the frequency (cycles per row) of the strongest wave with constant phase; 0 if there is none."""
    n = len(rows)
    # In pure noise, the strongest frequency explains about 2 log(n) / n of the variance.
    least = max(_SHARE, 4 * np.log(n) / n) * float((rows**2).sum())
    # A wave between two resolvable frequencies has at least 0.4 of its power at each of the two.
    if least == 0 or 2 * _power(rows, 1).max() / n < 0.4 * least:
        return 0.0
    power = _power(rows, _PADDING)
    best = int(np.argmax(power))
    frequency = best / (_PADDING * n)
    if 2 * power[best] / n < least:
        return 0.0
    return frequency if _phase_agreement(rows, frequency) >= _AGREEMENT else 0.0


def _power(rows: Matrix, padding: int) -> Vector:
    """Power at each frequency, with slow drifts and row-to-row changes set to zero."""
    n = len(rows)
    power = np.zeros(padding * n // 2 + 1)
    for column in rows.T:
        power += np.abs(np.fft.rfft(column, padding * n)) ** 2
    power[: FEWEST_PERIODS * padding] = 0.0
    power[-padding:] = 0.0
    return power


def _phase_agreement(rows: Matrix, frequency: float) -> float:
    """Return how well the parts of a series agree in a wave's phase and amplitude, from -1 to 1."""
    waves = np.exp(-2j * np.pi * frequency * np.arange(len(rows)))[:, None] * rows
    parts = np.array([part.sum(axis=0) for part in np.array_split(waves, _PARTS)])
    products = (parts @ parts.conj().T).real
    # Noise adds to the squared length of each part, but not to the products of different parts.
    wave = 2 * float((np.abs(parts.sum(axis=0)) ** 2).sum()) / len(rows)
    noise = max(0.0, float((rows**2).sum()) - wave) / _PARTS
    length = float(np.trace(products)) / _PARTS - noise
    return float(products[np.triu_indices(_PARTS, 1)].mean()) / length if length > 0 else 1.0


def _columns(features: Matrix) -> Matrix:
    """Return the features or, if there are many, random combinations in which a wave has the same share."""
    d = features.shape[1]
    if d <= _MOST_COLUMNS:
        return features.copy()
    weights = np.random.default_rng(0).standard_normal((d, _MOST_COLUMNS))
    with np.errstate(over="ignore", invalid="ignore"):
        rows = features @ weights
    # Features are rescaled first only if the sums would overflow or underflow.
    return rows if _LEAST < largest(rows) < np.inf else np.asarray(features / largest(features) @ weights)


def _standardise(side: NDArray[Any]) -> Matrix:
    features: Matrix = np.asarray(side, dtype=np.float64).reshape(len(side), -1)
    rows = _columns(features)
    rows /= largest(rows)
    time = np.arange(len(rows)) - (len(rows) - 1) / 2
    rows -= rows.mean(axis=0)
    # The linear trend is removed, because it would leak into all frequencies.
    rows -= time[:, None] * (time @ rows) / (time @ time)
    return rows


_SPREAD, _DIED_OUT = 256, 0.05
"""Number of rows that are checked for drift, and the autocorrelation below which the memory counts as ended."""
_WINDOW_OF_TIMES = 5
"""Number of memories over which autocorrelations are added up; those at longer lags are noise (Sokal 1997)."""


def memory_in_rows(grams: list[Matrix], windows: list[Index]) -> float:
    """Memory in rows: twice the sum, over lags, of the product of the sides' autocorrelations.

    Squared Gram matrices weight directions by their variance, as similarities do. Without this weighting, many noisy
    directions would hide a few directions with a long memory.
    """
    ends = np.cumsum([0, *(len(window) for window in windows)])
    total = 0.0
    for lag in range(1, len(windows[0]) // 2):
        correlations = [_autocorrelation(gram, lag, ends) for gram in grams]
        # A single representation is used for both sides, which then have the same memory.
        total += 2 * float(np.prod(correlations if len(correlations) > 1 else correlations * 2))
        # Autocorrelations of waves change their sign and return, so the sum does not end at the first negative one.
        if lag >= _WINDOW_OF_TIMES * total:
            break
    return max(0.0, total)


def _autocorrelation(gram: Matrix, lag: int, ends: Index) -> float:
    """Autocorrelation of the squared Gram matrix at one lag; only the entries needed are computed."""
    power = np.einsum("ij,ij->i", gram, gram)
    if not power.any():
        return 0.0
    products = np.einsum("ij,ij->i", gram[:-lag], gram[lag:])
    parts = [(power[start:stop].mean(), products[start : stop - lag].mean()) for start, stop in pairwise(ends)]
    variance, with_later = np.mean(parts, axis=0)
    return float(with_later / variance)


def persistence(side: DiagnosticRows) -> float:
    """Mean autocorrelation at lags of an eighth to a quarter of the rows, times the effective row number.

    A memory that decays leaves no autocorrelation at these lags. Where autocorrelations at shorter lags are larger,
    they reflect the memory, which reduces the effective number of rows.
    """
    spread = np.unique(np.linspace(0, side.n_rows - 1, min(side.n_rows, _SPREAD)).astype(np.intp))
    gram = side.gram if len(spread) == side.n_rows else _gram(side.side, spread)
    n, squared = len(gram), gram @ gram.T
    power = float(np.trace(squared)) / n
    if not power > 0:
        return 0.0
    autocorrelations = np.array([np.trace(squared, lag) / (n - lag) for lag in range(1, n // 4 + 1)]) / power
    floor = float(autocorrelations[max(1, n // 8 - 1) :].mean())
    if not 0 < floor < 1:
        return 0.0
    memory = (autocorrelations - floor) / (1 - floor)
    return floor * n / (1 + 2 * float(memory[: int(np.argmax(np.append(memory <= _DIED_OUT, True)))].sum()))


def _gram(side: NDArray[Any], rows: Index) -> Matrix:
    X = np.asarray(side[rows], dtype=np.float64)
    # Without the division, squares of large numbers would overflow.
    X = X / largest(X)
    X -= X.mean(axis=0)
    gram: Matrix = X @ X.T
    return gram


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
    dependence that all representations show is reported. The distances between consecutive rows are ranked and
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
    repeated = repeats(joint_hashes([side.hashes for side in sides]))
    repeated = repeated[np.any([side.side[repeated].any(axis=1) for side in sides], axis=0)]
    if n < FEWEST_ROWS:
        discrete = all(_is_discrete(side) for side in sides)
        found = tuple(repeated.tolist())
        return Dependence(n, 1.0, 0.5, memory=0.0, repeated=found, n_looked_at=len(rows), discrete=discrete)
    p_value, closeness, alternation = _order_signs(sides, windows, screened=screened)
    lasting = not screened or p_value <= LEVEL
    near = find_near_repeats([side.gram for side in sides], ~np.isin(rows, repeated))
    # Whether values are discrete matters only if rows repeat.
    discrete = bool(not screened or len(near) or len(repeated)) and all(_is_discrete(side) for side in sides)
    near = near[:0] if discrete else near
    return Dependence(
        n,
        p_value,
        closeness,
        memory=memory_in_rows([side.gram for side in sides], windows) if lasting else 0.0,
        repeated=tuple(repeated.tolist()),
        nearly_repeated=tuple(rows[near].tolist()),
        n_looked_at=len(rows),
        discrete=discrete,
        persistence=min(persistence(side) for side in sides) if lasting else 0.0,
        period=find_period(*(side.side for side in sides)),
        alternation_p_value=alternation,
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


def joint_hashes(hashes: Sequence[NDArray[np.uint64]]) -> NDArray[np.uint64]:
    """Combine the hashes of each row in all representations."""
    codes = np.zeros(len(hashes[0]), dtype=np.uint64)
    for one in hashes:
        codes = codes * np.uint64(0x9E3779B97F4A7C15) + one
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
    places, ranked = _neighbours_in_permutations(tuple(len(window) for window in windows), lag)
    distances = squared.ravel()
    ranks = _ranks(distances[places], np.sort(distances[ranked])).mean(axis=1)
    # If all distances are equal, the mean rank is 0.5.
    return _closer(ranks), float(ranks[0]) if ranks[1:].std() > 1e-9 else 0.5


def neighbours_are_closer(squared: Matrix, windows: list[Index]) -> float:
    """p-value of how close neighbours are, from the squared distances between all rows of some windows."""
    return _neighbours(squared, windows)[0]


@lru_cache(maxsize=8)
def _neighbours_in_permutations(lengths: tuple[int, ...], lag: int) -> tuple[Index, Index]:
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


_LAST_NUMBER = re.compile(r"[^0-9a-zA-Z]*\d+$")
"""The number of a part in a name, such as that of a chunk in 'report.pdf | 3' or 'report_3'."""
_FEWEST_BEGINNINGS, _MOST_NAMES, _MOST_RESEMBLING = 4, 1 << 16, 512
"""Smallest number of beginnings, and largest numbers of names and rows that are looked at."""
_MATERIAL = 0.1
"""Share of the variance between groups, beyond chance, below which their resemblance hardly matters."""


_DESIGN_EFFECT = 1.5
"""Ratio of the variance between groups to that between random groups, by which p-values for rows are too small."""


def resemblance_by_name(names: Names | None, side: NDArray[Any], labels: Any = None) -> str:
    """Return the sign that rows whose names have one beginning, such as chunks of a document, resemble one another.

    The result is empty without such a sign, or if the beginnings name the labels.

    Examples
    --------
    >>> from shesha.inputs import Names
    >>> rng = np.random.default_rng(0)
    >>> texts, order = np.arange(60) % 15, rng.permutation(60)
    >>> names = Names.build(np.array([f"text {text} part {row}" for row, text in enumerate(texts)], dtype=object))
    >>> resemblance_by_name(names, rng.standard_normal((15, 9))[texts])
    'rows whose names differ only in the last number, such as text 0 part 0 and text 0 part 15, resemble one another'
    """
    if names is None or names.kind != "text" or len(names) > _MOST_NAMES:
        return ""
    values = names.values.astype(str)
    starts, codes = np.unique([_LAST_NUMBER.sub("", value) for value in values], return_inverse=True)
    if not _FEWEST_BEGINNINGS <= len(starts) <= len(values) / 2:
        return ""
    if labels is not None and len(labels) == len(codes):
        # Rows of one class may be named after it.
        classes = np.unique(np.asarray(labels).astype(str), return_inverse=True)[1]
        if len(np.unique(np.stack([codes, classes]), axis=1).T) == len(starts):
            return ""
    # Rows of one beginning are taken together, because few rows at random would hardly share any.
    rows = np.argsort(codes, kind="stable")[:_MOST_RESEMBLING]
    some = np.asarray(side[rows], dtype=np.float64)
    rows, some = rows[finite := np.isfinite(some).all(axis=1)], some[finite]
    if len(rows) < _FEWEST_BEGINNINGS or not have_resembling_groups(some, codes[rows]):
        return ""
    one, other = values[rows[codes[rows] == np.bincount(codes[rows]).argmax()][:2]]
    return f"rows whose names differ only in the last number, such as {one} and {other}, resemble one another"


def have_resembling_groups(rows: Matrix, codes: Labels, *, large: bool = False) -> bool:
    """Return whether rows of one group are closer than under random orders, by a material extent.

    In `large` groups, which would take the place of rows, a slight resemblance matters as well (the design effect).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows, codes = rng.standard_normal((60, 4)), np.arange(60) // 6
    >>> [have_resembling_groups(X, codes) for X in (rows, rows + 2 * rng.standard_normal((10, 4))[codes])]
    [False, True]
    """
    rng = np.random.default_rng(0)
    centred = rows / largest(rows)
    centred -= centred.mean(axis=0)
    gram, sizes = centred @ centred.T, np.bincount(codes)
    i, j = np.nonzero(codes[:, None] == codes)
    orders = [np.arange(len(rows)), *(rng.permutation(len(rows)) for _ in range(_N_ORDERS))]
    shares = np.array([(gram[order[i], order[j]] / sizes[codes[i]]).sum() for order in orders])
    shares /= np.trace(gram) or 1.0
    chance = float(shares[1:].mean())
    limit = _DESIGN_EFFECT * chance if large else chance + _MATERIAL
    return p_of_first(shares) <= LEVEL and float(shares[0]) >= limit
