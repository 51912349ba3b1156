"""Accumulate evidence over repeated checks, with an alarm at a requested mean run length."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isnan

from shesha.drift.alarm_threshold import AlarmRule
from shesha.drift.state_json import count_field, number_field, state_fields, state_text
from shesha.results import CheckSequence
from shesha.support.sqlite import StoreError

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
