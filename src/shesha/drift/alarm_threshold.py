"""The evidence at which to raise an alarm, given a mean number of checks between false alarms."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import isnan

import numpy as np

from shesha.support.types import Matrix, Vector

_STEP = 0.01
"""Width of the Markov chain's states, on the scale log(1 + evidence)."""
_CLOSE = 1.005
"""Largest accepted ratio of the run length that a threshold gives to the requested run length."""
_LONGEST = 1e9
"""Longest run length, in checks, for which a threshold is computed; beyond it, they are set equal."""
_TRIES = 15


@dataclass(frozen=True)
class AlarmRule:
    """How evidence accumulates over checks, and when it raises the alarm.

    If the model is unchanged, the rank of a check among K re-encodings is uniform. For any data, the evidence is
    therefore a Markov chain, from which the mean number of checks until an alarm follows. The threshold is the smallest
    for which this mean is `run_length`. The value `run_length` itself would be a valid threshold (Shin, Ramdas and
    Rinaldo 2023), but would delay alarms, because the last check carries the sum far beyond the threshold.

    Attributes
    ----------
    run_length : float
        Mean number of checks until a false alarm.
    n_nulls : int
        Number K of re-encodings.

    Examples
    --------
    >>> rule = AlarmRule(100, 99)
    >>> round(rule.e_value(0.01), 2), rule.e_value(float("nan")), round(rule.threshold)
    (5.38, 1.0, 68)
    """

    run_length: float
    n_nulls: int

    def e_value(self, p_value: float) -> float:
        """Return p^(-1/2) divided by its null mean, so that the e-value has null mean 1; 1 if p is NaN."""
        return 1.0 if isnan(p_value) else p_value**-0.5 / _mean_root(self.n_nulls)

    @property
    def threshold(self) -> float:
        """Evidence at which the alarm is raised."""
        return _threshold(self.run_length, self.n_nulls)


@lru_cache(maxsize=64)
def _mean_root(n_nulls: int) -> float:
    return float(np.mean((np.arange(1, n_nulls + 2) / (n_nulls + 1)) ** -0.5))


@lru_cache(maxsize=64)
def _threshold(run_length: float, n_nulls: int) -> float:
    e_values = (np.arange(1, n_nulls + 2) / (n_nulls + 1)) ** -0.5 / _mean_root(n_nulls)
    length = run_length
    # For longer run lengths, the chain has too many states to be worth a slightly lower threshold.
    for _ in range(_TRIES if run_length <= _LONGEST else 0):
        ratio = least_run_length(length, e_values) / run_length
        if 1 <= ratio <= _CLOSE:
            return length
        # The sum minus the number of checks is a martingale, so a threshold equal to the run length always suffices.
        length = min(run_length, length / ratio * (1 + 1e-4))
    return run_length


def least_run_length(threshold: float, e_values: Vector) -> float:
    """Return a lower bound on the mean number of checks until the Shiryaev-Roberts sum reaches it.

    Each check multiplies one plus the sum by one of the e-values, which are equally likely. The states of the chain are
    intervals of the sum. Each step rounds up to the end of an interval, so the chain never falls below the true sum.

    Parameters
    ----------
    threshold : float
    e_values : array of shape (n_ranks,)
        The e-value of each rank.

    Examples
    --------
    >>> round(least_run_length(3.0, np.array([1.5, 0.5])), 2)
    3.97
    """
    top = np.log1p(threshold)
    n_states = max(10, int(np.ceil(top / _STEP)))
    ends = np.exp(np.linspace(0.0, top, n_states + 1))
    sums = ends[:, None] * e_values
    staying = sums < threshold
    states = np.minimum(np.ceil(np.log1p(sums) / top * n_states - 1e-9).astype(np.intp), n_states)
    moves: Matrix = np.zeros((n_states + 1, n_states + 1))
    rows = np.broadcast_to(np.arange(n_states + 1)[:, None], states.shape)
    np.add.at(moves, (rows[staying], states[staying]), 1 / len(e_values))
    return float(np.linalg.solve(np.eye(n_states + 1) - moves, np.ones(n_states + 1))[0])
