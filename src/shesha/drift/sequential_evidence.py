"""Accumulate evidence over repeated checks, with an alarm at a requested mean run length."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import isnan
from typing import Any

import numpy as np

from shesha.results import CheckSequence
from shesha.support.sqlite import StoreError
from shesha.support.types import Matrix, Vector

MOST_COUNT = 2**62
"""Largest count that a valid state may contain."""


def state_text(fields: Mapping[str, Any]) -> str:
    """Return plain values as JSON; numbers are exact to the last bit."""
    return json.dumps(dict(fields))


def state_fields(text: str, names: Sequence[str], optional: Sequence[str] = ()) -> dict[str, Any]:
    """Return the values of a state, which must have exactly these fields, apart from the optional ones.

    Examples
    --------
    >>> state_fields('{"number": 3}', ["number"])
    {'number': 3}
    """
    try:
        plain = json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise damaged_state_error(f"no JSON ({error})") from error
    if not isinstance(plain, dict) or not set(names) <= set(plain) <= {*names, *optional}:
        raise damaged_state_error(f"{str(text)[:60]!r} instead of {', '.join(names)}")
    return plain


def count_field(plain: Mapping[str, Any], name: str, most: int = MOST_COUNT) -> int:
    """Return a field that must be a non-negative integer."""
    value = plain[name]
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
        raise damaged_state_error(f"{name} = {str(value)[:40]}")
    return value


def number_field(plain: Mapping[str, Any], name: str, low: float, high: float) -> float:
    """Return a field that must be a finite number between two limits."""
    return _number(plain[name], name, low, high)


def number_list(plain: Mapping[str, Any], name: str, low: float, high: float) -> list[float]:
    """Return a field that must be a list of finite numbers between two limits."""
    value = plain[name]
    if not isinstance(value, list):
        raise damaged_state_error(f"{name} = {str(value)[:40]}")
    return [_number(item, name, low, high) for item in value]


def count_list(plain: Mapping[str, Any], name: str, most: int = MOST_COUNT) -> list[int]:
    """Return a field that must be a list of non-negative integers."""
    value = plain[name]
    if not isinstance(value, list):
        raise damaged_state_error(f"{name} = {str(value)[:40]}")
    return [count_field({name: item}, name, most) for item in value]


def damaged_state_error(got: str) -> StoreError:
    """Return the error for a damaged state, whose message says what to do."""
    return StoreError(
        f"the evidence of earlier checks must be undamaged, got {got}; run `shesha monitor acknowledge` (or call "
        "`acknowledge()`) to restart the evidence"
    )


def _number(value: Any, name: str, low: float, high: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise damaged_state_error(f"{name} = {str(value)[:40]}")
    return float(value)


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


MOST = 1e300
"""Upper limit of the evidence, which keeps sums finite."""


@dataclass(frozen=True)
class Evidence:
    """Evidence from the checks so far: the Shiryaev-Roberts statistic (which raises the alarm) and CUSUM.

    All checks of a monitor share the reference and the nulls, so the run length is a mean over many monitors, not the
    mean for a single monitor.

    Examples
    --------
    >>> rule = AlarmRule(100, 99)
    >>> evidence = Evidence().update(0.01, rule).update(0.01, rule).update(0.02, rule)
    >>> round(evidence.shiryaev_roberts, 1), round(evidence.cusum, 1), evidence.alarm_since
    (134.3, 110.1, 3)
    """

    number: int = 0
    shiryaev_roberts: float = 0.0
    cusum: float = 0.0
    alarm_since: int = 0

    def update(self, p_value: float, rule: AlarmRule) -> Evidence:
        """Return the evidence after one more check; without a p-value, the check is only counted."""
        if isnan(p_value):
            return replace(self, number=self.number + 1)
        e = rule.e_value(p_value)
        updated = Evidence(
            self.number + 1,
            min(MOST, (1.0 + self.shiryaev_roberts) * e),
            min(MOST, max(self.cusum, 1.0) * e),
            self.alarm_since,
        )
        # An alarm remains until it is acknowledged, so that a lasting change is not overlooked.
        reached = not self.alarm_since and updated.shiryaev_roberts >= rule.threshold * (1 - 1e-12)
        return replace(updated, alarm_since=updated.number) if reached else updated

    def as_text(self) -> str:
        """Return the evidence as JSON."""
        return state_text(vars(self))

    @classmethod
    def from_text(cls, text: str | None) -> Evidence:
        """Restore evidence from the output of `as_text`; None means no evidence yet.

        Raises
        ------
        StoreError
            If the text is damaged.
        """
        if text is None:
            return cls()
        plain = state_fields(text, ("number", "shiryaev_roberts", "cusum", "alarm_since"))
        number = count_field(plain, "number")
        sums = number_field(plain, "shiryaev_roberts", 0.0, MOST), number_field(plain, "cusum", 0.0, MOST)
        return cls(number, *sums, count_field(plain, "alarm_since", number))

    def reset(self) -> Evidence:
        """Return evidence with the same number of checks, but all sums back at their start."""
        return Evidence(self.number)

    @classmethod
    def restart(cls, text: str | None) -> Evidence:
        """Reset the evidence stored in a text; damaged text counts as no evidence."""
        try:
            return cls.from_text(text).reset()
        except StoreError:
            return cls()

    def as_sequence(self, p_value: float, rule: AlarmRule) -> CheckSequence:
        """Return a summary of the checks so far, for a verdict."""
        sums = self.shiryaev_roberts, self.cusum, self.alarm_since
        return CheckSequence(self.number, rule.run_length, rule.e_value(p_value), *sums, rule.threshold)
