"""Kinds of checks: only numbers that need an experiment and claims in words count as results."""

from __future__ import annotations

from collections.abc import Hashable
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np

from shesha_studies.framework.checks import OWN_NUMBERS

if TYPE_CHECKING:
    import pandas as pd

RESULT, TRANSCRIPTION, ARITHMETIC, REPEAT, OWN = "result", "transcription", "arithmetic", "repeat", "own"
KINDS = (RESULT, ARITHMETIC, TRANSCRIPTION, REPEAT, OWN)
MEANINGS = {
    RESULT: "a number that needs an experiment, or a claim in words",
    ARITHMETIC: "a number, bound or count that follows from other numbers of the paper",
    TRANSCRIPTION: "a label, a parameter, a sample size, or a consequence of a definition",
    REPEAT: "a number that the paper prints again in another place, possibly rounded",
    OWN: "a claim or formula of our own, which no paper has published",
}
_OURS = "new"
"""First word of the place of a claim that is our own."""
_REPEATS = r"\(repeats [^()]+\)$"
"""End of the label of a number that another table prints in another unit or with more digits."""
_NUMBER = r"^(?:rho )?[<>]?\s?[-+]?\d|^n\.s\.$"
"""Published values that are numbers, possibly with a bound, a unit or a total, such as "1800 times", "<1e-24" or
"15/15"."""
_DECIMAL = r"[-+]?\d+\.\d+"


def kinds(checks: pd.DataFrame) -> pd.Series[str]:
    """Return the kind of each check, which determines how the check is counted.

    Parameters
    ----------
    checks : DataFrame
        The checks, with the columns `study`, `where`, `what`, `published`, `ours`, `basis` and `transcribed`.

    Returns
    -------
    Series of {"result", "arithmetic", "transcription", "repeat", "own"}

    Examples
    --------
    >>> import pandas as pd
    >>> lines = [("Striatum: n", "6", "6", True), ("rho", "0.5", "0.4", False), ("text: rho", "0.5", "0.4", False)]
    >>> table = pd.DataFrame(lines, columns=["what", "published", "ours", "transcribed"])
    >>> kinds(table.assign(study="a", where=["Paper, 1", "Paper, 1", "Paper, 2"], basis="")).tolist()
    ['transcription', 'result', 'repeat']
    >>> kinds(table.assign(study="a", where="new", basis="")).tolist()
    ['own', 'own', 'own']
    """
    import pandas as pd

    numeric = checks.published.astype(str).str.contains(_NUMBER)
    reached = checks.ours.astype(str) != ""
    repeated = (checks.duplicated(["study", "published", "ours"]) | _rounded_repeats(checks)) & reached
    repeated |= checks.what.astype(str).str.contains(_REPEATS)
    is_own = checks["where"].astype(str).str.split(",").str[0] == _OURS
    labels = np.select(
        [is_own, checks.transcribed.astype(bool), numeric & (checks.basis == OWN_NUMBERS), repeated],
        [OWN, TRANSCRIPTION, ARITHMETIC, REPEAT],
        RESULT,
    )
    return pd.Series(labels, index=checks.index)


def _rounded_repeats(checks: pd.DataFrame) -> pd.Series[bool]:
    """Mark lines whose published number rounds that of an earlier line, which the same number of ours answers."""
    import pandas as pd

    repeats: list[Hashable] = []
    published = checks.published.astype(str)
    for _, group in published.groupby([checks.study, checks.ours.astype(str)], sort=False):
        numbers = group[group.str.fullmatch(_DECIMAL)]
        for place, (index, text) in enumerate(numbers.items()):
            if any(_rounds_to(earlier, text) for earlier in numbers.iloc[:place]):
                repeats.append(index)
    return pd.Series(checks.index.isin(repeats), index=checks.index)


def _rounds_to(number: str, text: str) -> bool:
    """Whether a number with more decimals gives this text if it is rounded, half a unit in either direction."""
    exact, rounded = Decimal(number), Decimal(text)
    unit = Decimal(1).scaleb(int(rounded.as_tuple().exponent))
    has_more = int(exact.as_tuple().exponent) < int(rounded.as_tuple().exponent)
    return has_more and abs(exact - rounded) <= unit / 2
