"""Possible problems with a conclusion, the largest effect first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shesha.report import page_width, wrap
from shesha.results.base import Result

if TYPE_CHECKING:
    import pandas as pd

_LEAST = 1e-12
"""Smallest p-value that is printed, because approximations are unreliable below it."""


@dataclass(frozen=True)
class Doubt(Result):
    """One reason why a score may be misleading."""

    name: str
    effect: float
    """Effect from 0 to 1: the change of the score when the problem is removed, or the affected share of the data."""
    p_value: float | None
    """p-value of the problem under the null hypothesis that it is absent; None if it was counted, not tested."""
    text: str
    """Description of the problem, with the measured numbers."""
    advice: str
    """What to do about the problem."""
    rows: tuple[int, ...] = ()
    """The affected rows, if they are few."""

    def __str__(self) -> str:
        """Print the problem and the advice."""
        return f"{self.name} ({self.evidence}): {self.text}. {self.advice}."

    @property
    def evidence(self) -> str:
        """Return the effect, and p if there is one."""
        if self.p_value is None:
            return f"effect {self.effect:.2f}"
        p = f"p = {self.p_value:.1g}" if self.p_value >= _LEAST else f"p < {_LEAST:g}"
        return f"effect {self.effect:.2f}, {p}"


@dataclass(frozen=True)
class Doubts(Result):
    """All problems found in the data, the largest effect first."""

    found: tuple[Doubt, ...]
    headline: str = ""
    """The score whose change measures the effect of a problem."""
    value: float | None = None
    """The value of this score for the checked rows; None if no check needed it, or it could not be computed."""
    n_looked_at: int = 0
    """Number of rows on which the checks ran. Checks of row lengths, repeated rows and columns used all rows."""
    reason: str = ""
    """Reason for skipped checks; empty if all checks ran."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the doubts, in their order."""
        return tuple(doubt.name for doubt in self.found)

    def __iter__(self) -> Iterator[Doubt]:
        """Iterate over the doubts."""
        return iter(self.found)

    def __len__(self) -> int:
        """Return the number of doubts."""
        return len(self.found)

    def __contains__(self, name: object) -> bool:
        """Return whether there is a doubt of this name."""
        return name in self.names

    def __getitem__(self, name: str | int) -> Doubt:
        """Return the doubt of this name or position."""
        if isinstance(name, int):
            return self.found[name]
        for doubt in self.found:
            if doubt.name == name:
                return doubt
        raise KeyError(f"name must be one of {', '.join(self.names) or 'none'}, got {name!r}")

    def to_frame(self) -> pd.DataFrame:
        """Return one row per doubt."""
        import pandas as pd

        return pd.DataFrame(
            [doubt.to_dict() for doubt in self.found], columns=["name", "effect", "p_value", "text", "advice"]
        )

    def __str__(self) -> str:
        """Print the doubts, or that no problem was found, or why checks were not possible."""
        if not self.found and not self.reason:
            return f"no problem found in {self.n_looked_at:,} checked rows"
        sentences = [f"{place}. {doubt}" for place, doubt in enumerate(self.found, 1)]
        if self.reason:
            sentences.append(f"{'Some checks were not' if self.headline else 'No checks were'} possible: {self.reason}")
        width = page_width()
        return "\n".join(line for sentence in sentences for line in wrap(sentence, width))
