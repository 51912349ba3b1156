"""Detection of a period that several series share, which circular shifts do not account for."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shesha.nulls.sampled_rows_for_checks import largest
from shesha.support.types import Matrix, Vector

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
