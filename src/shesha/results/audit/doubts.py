"""Doubts about a conclusion, largest effect first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shesha.report import page_width, wrap
from shesha.results.base import Result

if TYPE_CHECKING:
    import pandas as pd

_LEAST = 1e-12
"""Below which a p-value is no number that the approximations behind it know."""


@dataclass(frozen=True)
class Doubt(Result):
    """One reason why a score may not mean what it seems to mean."""

    name: str
    effect: float
    """How much the score changes without it, from 0 to 1: in units of the score, or as a share of what is compared."""
    p_value: float | None
    """How often rows without this fault would look so; None where it is counted, not tested."""
    text: str
    """What is the matter, with its numbers."""
    advice: str
    """What to pass or to do."""
    rows: tuple[int, ...] = ()
    """The rows in question, where they are few."""

    def __str__(self) -> str:
        """Print the matter and the advice."""
        return f"{self.name} ({self.evidence}): {self.text}. {self.advice}"

    @property
    def evidence(self) -> str:
        """Print the effect, and p where there is one."""
        if self.p_value is None:
            return f"effect {self.effect:.2f}"
        p = f"p = {self.p_value:.1g}" if self.p_value >= _LEAST else f"p < {_LEAST:g}"
        return f"effect {self.effect:.2f}, {p}"


@dataclass(frozen=True)
class Doubts(Result):
    """All doubts that the data raise, ordered: first what could change the conclusion most."""

    found: tuple[Doubt, ...]
    headline: str = ""
    """The score whose change is the effect."""
    value: float | None = None
    """Its value on the rows looked at, where it was needed and there is one."""
    n_looked_at: int = 0
    """Rows that were looked at; lengths, repeats and columns are those of all rows."""
    reason: str = ""
    """Why doubts could not be looked for, some or all; empty where all were."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the doubts, in their order."""
        return tuple(one.name for one in self.found)

    def __iter__(self) -> Iterator[Doubt]:
        """Go through the doubts."""
        return iter(self.found)

    def __len__(self) -> int:
        """How many there are."""
        return len(self.found)

    def __contains__(self, name: object) -> bool:
        """Whether there is a doubt of this name."""
        return name in self.names

    def __getitem__(self, name: str | int) -> Doubt:
        """Return the doubt of this name, or at this place."""
        if isinstance(name, int):
            return self.found[name]
        for one in self.found:
            if one.name == name:
                return one
        raise KeyError(f"name must be one of {', '.join(self.names) or 'none'}, got {name!r}")

    def to_frame(self) -> pd.DataFrame:
        """Return one row per doubt."""
        import pandas as pd

        return pd.DataFrame(
            [one.to_dict() for one in self.found], columns=["name", "effect", "p_value", "text", "advice"]
        )

    def __str__(self) -> str:
        """Print the doubts, or that there is none, or why nothing could be looked for."""
        if not self.found and not self.reason:
            return f"no doubt found in {self.n_looked_at:,} rows"
        told = [f"{place}. {one}" for place, one in enumerate(self.found, 1)]
        if self.reason:
            told.append(f"{'Not all' if self.headline else 'No'} doubts could be looked for: {self.reason}")
        width = page_width()
        return "\n".join(line for one in told for line in wrap(one, width))
