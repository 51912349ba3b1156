"""One verdict for every line of a file of published numbers and claims; none can be forgotten."""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING

from shesha.studies._checks import AGREES, DIFFERS, HOLDS_NOT, NOT_RUN, UNREACHABLE, Check, judged

if TYPE_CHECKING:
    import pandas as pd

_ABSENT = "the cells that decide it are not among the rows at hand"


class Verdicts:
    """Checks of one study, in the order of its file of published lines.

    Parameters
    ----------
    published : DataFrame
        With columns `key` (what the study calls the line), `where`, `what` and `published` (a number or words).

    Examples
    --------
    >>> import pandas as pd
    >>> lines = [["rise", "Paper, 1", "width", "scores rise"], ["r", "Paper, 1", "correlation", "0.88"]]
    >>> verdicts = Verdicts(pd.DataFrame(lines, columns=["key", "where", "what", "published"]))
    >>> verdicts.claim("rise", True, "0.1 to 0.8")
    >>> verdicts.number("r", 0.93, error=0.01, why="other networks")
    >>> [check.verdict for check in verdicts.checks()]
    ['agrees', 'differs']
    """

    def __init__(self, published: pd.DataFrame) -> None:
        self._lines = {str(line.key): line for line in published.itertuples(index=False)}
        self._found: dict[str, Check] = {}

    def keys_from(self, beginning: str = "") -> list[str]:
        """Return the lines whose key begins so, in their order."""
        return [key for key in self._lines if key.startswith(beginning)]

    def claim(
        self, key: str, holds: bool | None, ours: str | float | None, why: str = "", otherwise: str = HOLDS_NOT
    ) -> None:
        """Judge a claim in words: True, False (then `otherwise`), or None where cells are absent.

        Where nothing but stand-ins of the published data speaks against a claim, `otherwise` is DIFFERS.
        """
        if holds is None:
            self._put(key, None, NOT_RUN, _ABSENT)
        else:
            self._put(key, ours, AGREES if holds else otherwise, "" if holds else why)

    def differs(self, key: str, ours: str | float, why: str) -> None:
        """Say that a description does not fit ours, though no control speaks against it."""
        self._put(key, ours, DIFFERS, why)

    def number(self, key: str, ours: float | None, *, error: float = 0.0, decimals: int = 2, why: str = "") -> None:
        """Judge a published number; `why` is kept where ours is another."""
        line = self._lines[key]
        absent = ours is None or isnan(ours)
        published = float(str(line.published))
        self._found[key] = judged(
            str(line.where),
            str(line.what),
            published,
            ours,
            error=error,
            decimals=decimals,
            why=_ABSENT if absent else why,
        )

    def unreachable(self, key: str, why: str) -> None:
        """Say that a line cannot be repeated here, and what is missing."""
        self._put(key, None, UNREACHABLE, why)

    def checks(self) -> tuple[Check, ...]:
        """Return all checks.

        Raises
        ------
        ValueError
            If a line has no verdict.
        """
        if forgotten := [key for key in self._lines if key not in self._found]:
            raise ValueError(f"every published line must have a verdict, got none for {', '.join(forgotten)}")
        return tuple(self._found[key] for key in self._lines)

    def _put(self, key: str, ours: str | float | None, verdict: str, why: str) -> None:
        line = self._lines[key]
        self._found[key] = Check(str(line.where), str(line.what), _value(line.published), ours, verdict, why)


def _value(text: object) -> float | str:
    """Return a number where it is one."""
    try:
        return float(str(text))
    except ValueError:
        return str(text)
