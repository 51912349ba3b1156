"""Test martingales on p-values: bets that switch at a fixed rate, averaged over several rates."""

from __future__ import annotations

import numpy as np

from shesha.drift.stream_evidence import BETS
from shesha.support.types import Matrix, Vector

JUMPS = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
"""Jump rates of the composite jumper, from 1e-4 (bets rarely change) to 1 (capital is redistributed at each row)."""


def composite_jumper(p_values: Matrix, jumps: tuple[float, ...] = JUMPS) -> Matrix:
    """Return log10 of the mean of simple jumper martingales with several rates, after each p-value.

    A simple jumper bets 1 + e (p - 1/2) for several values of e. With each p-value, it redistributes a share of its
    capital, the rate, over all bets. Small rates suit lasting shifts, and large rates suit shifts that come and go.
    With the mean over several rates, no rate has to be chosen. Its expected value is 1 if p-values are independent and
    uniform, so the probability that it ever reaches 1 / alpha is at most alpha (Ville). With the default rates, it is
    always at least 1 / 5, because the martingale with rate 1 is constant.

    Parameters
    ----------
    p_values : array of shape (n_streams, n_rows)
    jumps : tuple of float
        Rates in [0, 1]. A single rate gives a simple jumper.

    Returns
    -------
    array of shape (n_streams, n_rows)

    References
    ----------
    Vovk, Petej, Nouretdinov, Ahlberg, Carlsson and Gammerman 2021, "Retrain or not retrain: conformal test martingales
    for change-point detection" (the composite jumper).

    Examples
    --------
    >>> composite_jumper(np.full((1, 100), 0.1)).round(1)[0, [9, 99]]
    array([ 0.7, 13.6])
    """
    n_streams, n_rows = p_values.shape
    rates = np.asarray(jumps)[:, None]
    capital = np.full((n_streams, len(jumps), len(BETS)), 1 / (len(jumps) * len(BETS)))
    wealth, level = np.empty((n_streams, n_rows)), np.zeros(n_streams)
    for row in range(n_rows):
        capital = (1 - rates) * capital + rates * capital.mean(axis=2, keepdims=True)
        capital *= 1 + BETS * (p_values[:, row, None, None] - 0.5)
        total = capital.sum(axis=(1, 2))
        # The capital is rescaled to sum to 1, to avoid overflow and underflow.
        capital /= total[:, None, None]
        level = level + np.log10(total)
        wealth[:, row] = level
    return wealth


def first_alarm(log10_martingale: Vector, log10_threshold: float) -> int:
    """Return the number of the first row that reaches the threshold, counted from 1; 0 if none does.

    Examples
    --------
    >>> first_alarm(np.array([0.1, 1.2, 0.4]), 1.0), first_alarm(np.array([0.1]), 1.0)
    (2, 0)
    """
    above = np.flatnonzero(log10_martingale >= log10_threshold - 1e-12)
    return int(above[0]) + 1 if len(above) else 0
