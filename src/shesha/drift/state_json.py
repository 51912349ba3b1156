"""Store the state of a monitor between checks as JSON text, and validate it when it is read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from shesha.support.sqlite import StoreError

MOST = 2**62
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


def count_field(plain: Mapping[str, Any], name: str, most: int = MOST) -> int:
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


def count_list(plain: Mapping[str, Any], name: str, most: int = MOST) -> list[int]:
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
