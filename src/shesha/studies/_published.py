"""Tables of published numbers, one line each, become checks beside what we found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING, Any

from shesha.studies._checks import AGREES, HOLDS_NOT, NOT_RUN, UNREACHABLE, Check, judged

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Found:
    """Our answer to one published number or claim.

    Parameters
    ----------
    ours : float, str or None
    error : float
        Standard deviation of a single draw, where the published number is one draw.
    why : str
        Reason, told unless it agrees.
    verdict : str, optional
        Of a claim in words; numbers are judged by their distance.
    """

    ours: float | str | None
    error: float = 0.0
    why: str = ""
    verdict: str | None = None


def draws(values: pd.Series, why: str = "") -> Found:
    """Mean of our draws, with the spread of one."""
    error = float(values.std(ddof=1)) if len(values) > 1 else 0.0
    return Found(float(values.mean()) if len(values) else None, error, why)


def claim(holds: bool, ours: float | str, why: str, otherwise: str = HOLDS_NOT) -> Found:
    """Judge a claim in words by what we computed; `why` is told where it does not hold."""
    return Found(ours, 0.0, why, AGREES if holds else otherwise)


def against(
    published: pd.DataFrame | None, found: Mapping[str, Found], unreachable: Mapping[str, str] | None = None
) -> tuple[Check, ...]:
    """Turn every published line into a check.

    Parameters
    ----------
    published : DataFrame
        Columns `where`, `what`, `key`, `published` (a number or words); if need be `error`, and `decimals` (default 3).
    found : mapping of key to Found
    unreachable : mapping of str to str
        What keys that cannot be repeated begin with, and what is missing.

    Returns
    -------
    tuple of Check
        In the order of the lines. Keys that are in neither are "not run".

    Examples
    --------
    >>> import pandas as pd
    >>> lines = pd.DataFrame({"where": "Paper, 1", "what": ["a", "b"], "key": ["a", "b"], "published": ["0.50", "yes"]})
    >>> [one.verdict for one in against(lines, {"a": Found(0.52, 0.01), "b": claim(False, "no", "a control")})]
    ['agrees', 'does not hold']
    """
    assert published is not None
    return tuple(_check(line, found, unreachable or {}) for _, line in published.iterrows())


def _check(line: Any, found: Mapping[str, Found], unreachable: Mapping[str, str]) -> Check:
    told: float | str = _number(line.published)
    one = found.get(str(line.key))
    if one is None:
        reasons = [reason for start, reason in unreachable.items() if str(line.key).startswith(start)]
        verdict, why = (UNREACHABLE, reasons[0]) if reasons else (NOT_RUN, "Its cells are not among the rows at hand.")
        return Check(line["where"], line.what, told, None, verdict, why)
    if one.verdict is not None:
        return Check(line["where"], line.what, told, one.ours, one.verdict, "" if one.verdict == AGREES else one.why)
    if isinstance(told, str) or isinstance(one.ours, str):
        raise TypeError(f"published must be a number where ours has no verdict, got {told!r} and {one.ours!r}")
    return judged(
        line["where"],
        line.what,
        told,
        one.ours,
        error=one.error,
        published_error=_or(line.get("error"), 0.0),
        decimals=int(_or(line.get("decimals"), 3)),
        why=one.why or "Its cells are not among the rows at hand.",
    )


def _number(value: object) -> float | str:
    try:
        return float(str(value))
    except ValueError:
        return str(value)


def _or(value: Any, default: float) -> float:
    return default if value is None or isnan(float(value)) else float(value)
