"""Checks, each of which compares a published number or claim with our value and has a verdict."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from math import isnan
from typing import TYPE_CHECKING

from shesha_studies.framework import tolerance
from shesha_studies.framework.tolerance import LOOSE, loosely

if TYPE_CHECKING:
    import pandas as pd

AGREES = "agrees"
DIFFERS = "differs"
HOLDS_NOT = "does not hold"
NOT_FOUND = "not found on stand-ins"
INCONCLUSIVE = "inconclusive"
UNREACHABLE = "not reachable"
NOT_RUN = "not run"
VERDICTS = (AGREES, DIFFERS, HOLDS_NOT, NOT_FOUND, INCONCLUSIVE, UNREACHABLE, NOT_RUN)
SAID = {
    AGREES: ("agrees", "agree"),
    DIFFERS: ("differs", "differ"),
    HOLDS_NOT: ("does not hold", "do not hold"),
    NOT_FOUND: ("is not found on stand-ins", "are not found on stand-ins"),
    INCONCLUSIVE: ("is inconclusive", "are inconclusive"),
    UNREACHABLE: ("is not reachable here", "are not reachable here"),
    NOT_RUN: ("was not run", "were not run"),
}
"""Verbs for a single check and for several checks."""
DATA, RECIPE = "the paper's data", "its recipe"
STAND_IN, OWN_NUMBERS = "other models", "its own printed numbers"
BASES = (DATA, RECIPE, STAND_IN, OWN_NUMBERS)
"""What our numbers can be based on."""


@dataclass(frozen=True)
class Found:
    """Our answer to one published number or claim.

    Parameters
    ----------
    ours : float, str or None
        Our number or words; None if we have no value.
    error : float
        Standard deviation over single draws, if the published number is a single draw.
    why : str
        Reason, which is reported unless the numbers agree.
    verdict : str, optional
        Verdict if the data cannot decide. By default, numbers are judged by their difference, and words by whether they
        are equal. Claims in words are usually answered by rules (see `rules_file`).
    decimals : int, optional
        Number of decimals with which the number is printed. Default: the number in the published line, or 3 if it has
        none.
    note : str
        Note that is shown even if the numbers agree.
    n : int
        Number of draws of which a number is the mean; it is shown with `error`. 0 if there are none.
    unit : str
        What the draws are, in the plural.
    basis : str
        Basis of our value, if it is not that of the study.
    p_value : bool
        Whether the number is a p-value, which agrees within a factor of three.
    readings : tuple of (float, float)
        Other values, and their standard errors, for choices that the paper leaves open.
    """

    ours: float | str | None
    error: float = 0.0
    why: str = ""
    verdict: str | None = None
    decimals: int | None = None
    note: str = ""
    n: int = 0
    unit: str = "draws"
    basis: str = ""
    p_value: bool = False
    readings: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True)
class Check:
    """One published number or claim, compared with ours.

    Parameters
    ----------
    where : str
        Paper and table or section, such as "Geometric Stability, Table 11".
    what : str
        Row and column of a number, or the claim in words.
    published, ours : float, str or None
        The published value and our value, as numbers or words; `ours` is None if we have no value.
    verdict : {"agrees", "differs", "does not hold", "inconclusive", "not reachable", "not run"}
        "does not hold": the claim is not repeated or fails its control, even if its numbers agree. On stand-ins, this
        becomes "not found on stand-ins", because other models and data cannot refute a claim. "inconclusive": our
        interval neither supports the claim nor rules it out. A p-value above 0.05 neither supports nor refutes a claim.
    why : str
        Reason for every verdict except "agrees", such as the failed control or the missing data. For "agrees", a note
        if almost any value would have agreed.
    basis : {"", "the paper's data", "its recipe", "other models", "its own printed numbers"}
        What our value is based on; "its own printed numbers" is arithmetic and not an experiment. "" if we have no
        value.
    transcribed : bool
        Whether the line is a label, a parameter, a sample size or a consequence of a definition, which is no result.

    Raises
    ------
    ValueError
        If the verdict is not one of these.
    """

    where: str
    what: str
    published: float | str
    ours: float | str | None
    verdict: str
    why: str = ""
    basis: str = ""
    transcribed: bool = False

    def __post_init__(self) -> None:
        """Raise an error for unknown verdicts; on stand-ins, weaken "does not hold" to "not found"."""
        if self.verdict not in VERDICTS:
            raise ValueError(f"verdict must be one of {', '.join(VERDICTS)}, got {self.verdict!r}")
        if self.basis == STAND_IN and self.verdict == HOLDS_NOT:
            # If other models do not show a claim, this does not refute it.
            object.__setattr__(self, "verdict", NOT_FOUND)

    @property
    def loose(self) -> bool:
        """Whether the check agrees only because almost any value would."""
        return self.verdict == AGREES and self.why.startswith(LOOSE)

    def is_named_by(self, words: Iterable[str]) -> bool:
        """Whether `place | label |` contains one of the words, which may include the bars at both ends of the label."""
        return any(word in f"{self.where} | {self.what} |" for word in words)


def judge_number(
    where: str,
    what: str,
    published: float,
    ours: float | None,
    *,
    error: float = 0.0,
    published_error: float = 0.0,
    decimals: int = 3,
    why: str = "",
    readings: Sequence[tuple[float, float]] = (),
) -> Check:
    """Compare our number with a published one, given their joint 95 % uncertainty or rounding.

    Parameters
    ----------
    where, what, published, ours
        As for `Check`. If `ours` is NaN or None, the verdict is "not run".
    error, published_error : float
        Standard errors of our number and of the published number. If the published number is a single draw, pass the
        standard deviation over draws.
    decimals : int
        Number of decimals with which the published number is printed.
    why : str
        Reason to report if the numbers differ or our number is missing.
    readings : sequence of (float, float)
        Our other values, and their standard errors, for choices that the paper leaves open. The numbers agree only if
        all values do, and differ only if none does and all lie on one side.

    Returns
    -------
    Check
        If values in more than a quarter of the plausible range would agree, `why` says so.

    Examples
    --------
    >>> judge_number("Paper, Table 1", "CKA", 0.91, 0.92, error=0.01).verdict
    'agrees'
    >>> judge_number("Paper, Table 1", "correlation", 0.18, 0.32, error=0.13).why
    'loose: any value from -0.0748 to 0.435 would agree'
    >>> judge_number("Paper, Table 1", "CKA", 0.91, 0.99, error=0.01, why="other weights").verdict
    'differs'
    """
    if ours is None or isnan(ours):
        return Check(where, what, published, None, NOT_RUN, why)
    within = tolerance.allowed_difference(error, published_error, decimals)
    agree = [
        abs(value - published) <= tolerance.allowed_difference(own_error, published_error, decimals)
        for value, own_error in ((ours, error), *readings)
    ]
    if all(agree):
        rounded = tolerance.allowed_difference(decimals=decimals) == within
        return Check(where, what, published, ours, AGREES, "" if rounded else loosely(published, within, ours))
    low, high = (extreme([ours, *(value for value, _ in readings)]) for extreme in (min, max))
    if any(agree) or low <= published <= high:
        reason = f"Choices that the paper leaves open give {low:.3g} to {high:.3g}, and not all of these agree."
        return Check(where, what, published, ours, INCONCLUSIVE, reason)
    return Check(where, what, published, ours, DIFFERS, why)


def missing_checks(where: str, what: Iterable[tuple[str, float | str]], why: str) -> list[Check]:
    """Return checks for published numbers (name, value) that cannot be repeated here, with the reason."""
    return [Check(where, name, published, None, UNREACHABLE, why) for name, published in what]


def as_table(checks: Iterable[Check]) -> pd.DataFrame:
    """Return a table with one line per check."""
    import pandas as pd

    return pd.DataFrame([asdict(check) for check in checks], columns=[field.name for field in fields(Check)])
