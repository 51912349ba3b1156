"""Published numbers and claims, each with ours beside it and a verdict: what the index of all studies is made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from math import isnan
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

AGREES = "agrees"
DIFFERS = "differs"
HOLDS_NOT = "does not hold"
UNREACHABLE = "not reachable"
NOT_RUN = "not run"
VERDICTS = (AGREES, DIFFERS, HOLDS_NOT, UNREACHABLE, NOT_RUN)


@dataclass(frozen=True)
class Check:
    """One published number or claim.

    Parameters
    ----------
    where : str
        Paper and table or section: "Geometric Stability, Table 11".
    what : str
        Which row and column, or the claim in words.
    published, ours : float, str or None
        Numbers, or words; ours is None where there is none.
    verdict : {"agrees", "differs", "does not hold", "not reachable", "not run"}
        "does not hold" is a claim that a control takes away, even where its numbers are found again.
    why : str
        Reason for every verdict but the first: what differs, which control, which data or weights are missing.

    Raises
    ------
    ValueError
        If the verdict is another word.
    """

    where: str
    what: str
    published: float | str
    ours: float | str | None
    verdict: str
    why: str = ""

    def __post_init__(self) -> None:
        """Refuse other verdicts, which no table would count."""
        if self.verdict not in VERDICTS:
            raise ValueError(f"verdict must be one of {', '.join(VERDICTS)}, got {self.verdict!r}")


def judged(
    where: str,
    what: str,
    published: float,
    ours: float | None,
    *,
    error: float = 0.0,
    published_error: float = 0.0,
    decimals: int = 3,
    why: str = "",
) -> Check:
    """Compare a number with a published one: it agrees within three errors of both together, or up to rounding.

    Parameters
    ----------
    where, what, published, ours : as in `Check`
        NaN or None as ours: not run.
    error, published_error : float
        One standard error of the two numbers (standard deviation of a draw, where the published one is one draw).
    decimals : int
        Of the published number.
    why : str
        Reason, kept only if the numbers differ or there is none of ours.

    Returns
    -------
    Check

    Examples
    --------
    >>> judged("Paper, Table 1", "CKA", 0.91, 0.93, error=0.01).verdict
    'agrees'
    >>> judged("Paper, Table 1", "CKA", 0.91, 0.99, error=0.01, why="other weights").verdict
    'differs'
    """
    if ours is None or isnan(ours):
        return Check(where, what, published, None, NOT_RUN, why)
    errors = [0.0 if isnan(one) else one for one in (error, published_error)]
    allowed = max(3.0 * sum(one * one for one in errors) ** 0.5, 0.5 * 10.0**-decimals + 1e-12)
    if abs(ours - published) <= allowed:
        return Check(where, what, published, ours, AGREES)
    return Check(where, what, published, ours, DIFFERS, why)


def checks_of(table: pd.DataFrame, where: str, what: Callable[[Any], str], why: str = "") -> list[Check]:
    """Turn a table of `beside` into checks, one per line.

    Parameters
    ----------
    table : DataFrame
        With columns `published`, `ours` and `verdict`.
    where : str
        Paper and table, for all lines.
    what : callable
        Takes a line, returns what its number is.
    why : str
        Reason where numbers differ.
    """
    lines = (line for _, line in table.iterrows())
    return [
        Check(
            where,
            what(line),
            float(line.published),
            None if isnan(line.ours) else float(line.ours),
            str(line.verdict),
            "" if line.verdict == AGREES else why,
        )
        for line in lines
    ]


def missing(where: str, what: Iterable[tuple[str, float | str]], why: str) -> list[Check]:
    """Return published numbers that cannot be repeated here, as (what, published), with the reason."""
    return [Check(where, name, published, None, UNREACHABLE, why) for name, published in what]


def as_table(checks: Iterable[Check]) -> pd.DataFrame:
    """Return one line per check."""
    import pandas as pd

    return pd.DataFrame(
        [asdict(check) for check in checks], columns=["where", "what", "published", "ours", "verdict", "why"]
    )
