"""Possible problems with a conclusion, sorted so that the one with the largest effect comes first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shesha.report import page_width, wrap
from shesha.results.base import Result, draws_axes

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_LEAST = 1e-12
"""Smallest p-value that is reported as a number, because approximations are unreliable below it."""


@dataclass(frozen=True)
class Doubt(Result):
    """One reason why a score may be misleading."""

    name: str
    effect: float
    """Size of the effect, from 0 to 1: how much the score changes without the problem, or which share of the data has
    it."""
    p_value: float | None
    """p-value under the null hypothesis that the problem is absent; None if it was counted rather than tested."""
    text: str
    """A description of the problem that contains the measured numbers."""
    advice: str
    """What to do about the problem."""
    rows: tuple[int, ...] = ()
    """Numbers of the affected rows, if there are few."""

    def _text(self) -> str:
        """Return the problem and the advice as text."""
        return f"{self.name} ({self.evidence}): {self.text}. {self.advice}."

    @property
    def evidence(self) -> str:
        """Return the size of the effect, and the p-value if there is one."""
        if self.p_value is None:
            return f"effect {self.effect:.2f}"
        p = f"p = {self.p_value:.1g}" if self.p_value >= _LEAST else f"p < {_LEAST:g}"
        return f"effect {self.effect:.2f}, {p}"


@dataclass(frozen=True)
class Doubts(Result):
    """All problems found in the data, sorted by decreasing effect."""

    found: tuple[Doubt, ...]
    headline: str = ""
    """Name of the score whose change measures how large the effect of a problem is."""
    value: float | None = None
    """Value of that score for the checked rows; None if no check needed it or it could not be computed."""
    n_looked_at: int = 0
    """Number of rows that were checked. The checks of row lengths, repeated rows and columns used every row instead."""
    reason: str = ""
    """Why checks were skipped; empty if every check ran."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the doubts, in order."""
        return tuple(doubt.name for doubt in self.found)

    def __iter__(self) -> Iterator[Doubt]:
        """Iterate over the doubts."""
        return iter(self.found)

    def __len__(self) -> int:
        """Return the number of doubts."""
        return len(self.found)

    def __contains__(self, name: object) -> bool:
        """Return whether there is a doubt with this name."""
        return name in self.names

    def __getitem__(self, name: str | int) -> Doubt:
        """Return the doubt with this name or at this position."""
        if isinstance(name, int):
            return self.found[name]
        for doubt in self.found:
            if doubt.name == name:
                return doubt
        raise KeyError(f"name must be one of {', '.join(self.names) or 'none'}, got {name!r}")

    def _frame(self, *, full: bool) -> pd.DataFrame:
        """Return one row per doubt."""
        import pandas as pd

        return pd.DataFrame(
            [doubt.to_dict() for doubt in self.found], columns=["name", "effect", "p_value", "text", "advice"]
        )

    @draws_axes
    def plot(self, ax: Axes | None = None, *, title: str | None = None) -> Axes:
        """Draw the effect of each problem, the largest on top."""
        from shesha.charts import class_values

        effects, none = [doubt.effect for doubt in self.found], [float("nan")] * len(self.found)
        label = "effect: change of the score, or share of the data"
        return class_values(self.names, effects, none, [True] * len(effects), label=label, tested=False, ax=ax)

    def _text(self) -> str:
        """Return the doubts as text, or say that no problem was found or why nothing was checked."""
        if not self.found and not self.reason:
            return f"no problem found in {self.n_looked_at:,} checked rows"
        sentences = [f"{place}. {doubt}" for place, doubt in enumerate(self.found, 1)]
        if self.reason:
            sentences.append(f"{'Some checks were not' if self.headline else 'No checks were'} possible: {self.reason}")
        width = page_width()
        return "\n".join(line for sentence in sentences for line in wrap(sentence, width))
