"""Check the settings of a monitor: false alarm rate, recorded settings, and names of measures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from shesha.drift import rank_p_values
from shesha.drift.noise_floor import NoiseFloor
from shesha.inputs import validation as check
from shesha.measures import Measure, get

LEVEL = 0.01
FEWEST_IN_A_ROW = 19
"""Minimum number of re-encodings for accumulating evidence over checks."""


def check_level(
    false_alarm: float | None, run_length: float | None, unchanged: NoiseFloor | None, n_resamples: int
) -> float:
    """Return the significance level of one check; raise ValueError if it cannot be reached."""
    n_resamples = check.count(n_resamples, "n_resamples", minimum=19)
    if run_length is not None:
        if false_alarm is not None:
            raise ValueError(
                "false_alarm and run_length must not both be given, got both; pass the one that controls the alerts"
            )
        check.require_at_least(run_length, "run_length", 2.0)
        if unchanged is None or len(unchanged) < FEWEST_IN_A_ROW:
            got = "none" if unchanged is None else str(len(unchanged))
            raise ValueError(
                f"run_length must be used with at least {FEWEST_IN_A_ROW} nulls, got {got}; fewer re-encodings do not "
                "determine the noise of many checks"
            )
        return max(LEVEL, 1 / (len(unchanged) + 1))
    level = LEVEL if false_alarm is None else check.fraction(false_alarm, "false_alarm", closed=False)
    there = n_resamples if unchanged is None else len(unchanged)
    if there < rank_p_values.fewest_for(level):
        name = "n_resamples" if unchanged is None else "nulls"
        raise ValueError(
            f"false_alarm must be at least {1 / (there + 1):.3g} with {there} {name}, got {level:g}; pass at least "
            f"{rank_p_values.fewest_for(level)}"
        )
    return level


def plain_about(about: Mapping[str, Any] | None) -> dict[str, str]:
    """Return the recorded settings as strings."""
    if about is not None and not isinstance(about, Mapping):
        raise TypeError(f"about must map names to texts, got {type(about).__name__}")
    return {str(name): str(value) for name, value in (about or {}).items()}


def importable_name(measure: Measure) -> str:
    """Return the name by which a later process finds the measure; refuse measures that have none."""
    try:
        known = get(measure.name)
    except ValueError:
        known = None
    if known is None or cast(Any, known).function is not measure.function:
        raise ValueError(f"measures must have importable names to be saved, got {measure.name}")
    return measure.name
