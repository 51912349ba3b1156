"""Many checks in a row: what each says against no change adds up to an alarm with a stated run length."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from math import isnan

MOST = 1e300
"""Evidence beyond it is not told apart: sums stay finite however long a change lasts."""


def e_value(p_value: float) -> float:
    """Return p^(-1/2) / 2: at most 1 on average where p is a p-value, 1 where there is none.

    Examples
    --------
    >>> e_value(0.01), e_value(float("nan"))
    (5.0, 1.0)
    """
    return 1.0 if isnan(p_value) else 0.5 * p_value**-0.5


@dataclass(frozen=True)
class Evidence:
    """Evidence of the checks so far.

    Alarm at A: without change, the Shiryaev-Roberts sum takes at least A checks on average to get there (Shin, Ramdas
    and Rinaldo 2023), because the sum less the number of checks has no upward drift. Checks share reference and
    nulls, so this holds on average over monitors, not for each.

    Examples
    --------
    >>> evidence = Evidence().update(0.01, 30).update(0.01, 30)
    >>> evidence.shiryaev_roberts, evidence.cusum, evidence.alarm_since
    (30.0, 25.0, 2)
    """

    number: int = 0
    shiryaev_roberts: float = 0.0
    cusum: float = 0.0
    alarm_since: int = 0

    def update(self, p_value: float, run_length: float) -> Evidence:
        """Return the evidence after one more check; one without a p-value counts, and changes no sum."""
        if isnan(p_value):
            return replace(self, number=self.number + 1)
        e = e_value(p_value)
        found = Evidence(
            self.number + 1,
            min(MOST, (1.0 + self.shiryaev_roberts) * e),
            min(MOST, max(self.cusum, 1.0) * e),
            self.alarm_since,
        )
        # An alarm stays until someone acknowledges it: a change that lasts is not forgotten.
        reached = not self.alarm_since and found.shiryaev_roberts >= run_length * (1 - 1e-12)
        return replace(found, alarm_since=found.number) if reached else found

    def as_text(self) -> str:
        """Return all of it as JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def from_text(cls, text: str | None) -> Evidence:
        """Return what `as_text` gave the text of; None is no evidence yet."""
        return cls() if text is None else cls(**json.loads(text))

    def reset(self) -> Evidence:
        """Return the same count of checks with all sums at their start."""
        return Evidence(self.number)
