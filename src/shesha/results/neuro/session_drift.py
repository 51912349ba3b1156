"""How rates, tuning or geometry change between sessions, each compared with its chance level."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from shesha.report import Column, Page, Text, page_width, table, wrap
from shesha.results.base import Result
from shesha.results.null_summary import NullComparison
from shesha.results.plot_docstring import draws_axes

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class SessionPart(NullComparison):
    """How well two sessions agree in one respect."""

    name: str
    between: float
    """Agreement between half of the trials of one session and half of the trials of the other."""
    within: float
    """Mean agreement between two halves of the trials of the same session, which is the limit that noise sets."""

    @property
    def change(self) -> float:
        """Agreement within sessions minus agreement between them: the change that noise does not explain."""
        return self.within - self.between


@dataclass(frozen=True)
class SessionPair(Result):
    """Two sessions, with their common neurons and conditions and how well they agree."""

    first: str
    second: str
    n_shared: int
    """Number of neurons recorded in both sessions; the null distribution uses the same number."""
    n_conditions: int
    """Number of conditions presented in both sessions."""
    parts: tuple[SessionPart, ...] = ()
    reason: str = ""
    """Why numbers are missing; empty if none is."""

    def __iter__(self) -> Iterator[SessionPart]:
        """Iterate over the respects in which the sessions are compared."""
        return iter(self.parts)

    def __getitem__(self, name: str) -> SessionPart:
        """Return the part with this name."""
        known = {part.name: part for part in self.parts}
        if name not in known:
            raise KeyError(f"part must be one of {', '.join(known) or 'none'}, got {name}")
        return known[name]


@dataclass(frozen=True)
class SessionDrift(Result):
    """The results for all pairs of sessions."""

    sessions: tuple[str, ...]
    pairs: tuple[SessionPair, ...]
    n_permutations: int
    seed: int | None = None

    @property
    def headline(self) -> str:
        """Which part changed most, and between which sessions."""
        known = [(part.change, pair, part) for pair in self.pairs for part in pair if part.change == part.change]
        if not known:
            return "No pair of sessions could be compared."
        _, pair, part = max(known, key=lambda entry: entry[0])
        return (
            f"Largest change: {part.name.replace('_', ' ')} between {pair.first} and {pair.second}, with an agreement "
            f"of {part.between:.2f} between sessions and {part.within:.2f} within sessions."
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row per pair of sessions and part."""
        import pandas as pd

        columns = ("between", "within", "change", "null_mean", "null_sd", "threshold", "p_value")
        rows = []
        for pair in self.pairs:
            record = {"first": pair.first, "second": pair.second, "n_shared": pair.n_shared}
            record["n_conditions"] = pair.n_conditions
            rows += [
                {**record, "part": part.name, **{name: getattr(part, name) for name in columns}} for part in pair.parts
            ]
            rows += [{**record, "reason": pair.reason}] if not pair.parts else []
        return pd.DataFrame(rows)

    @draws_axes
    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw how much each part changes over the pairs of sessions, in their order."""
        from shesha.charts import Series, intervals

        shown = [pair for pair in self.pairs if pair.parts]
        names = [f"{pair.first} - {pair.second}" for pair in shown]
        kinds = [part.name for part in shown[0].parts] if shown else []
        series = {}
        for kind in kinds:
            values = [pair[kind].change for pair in shown]
            series[kind] = Series(values, values, values)
        return intervals(names, series, label="agreement within minus between sessions", joined=False, ax=ax)

    def _text(self) -> str:
        """Return a text with one table per part."""
        width, known = page_width(), [pair for pair in self.pairs if pair.parts]
        names = [f"{pair.first} - {pair.second}" for pair in known]
        lines: list[str] = []
        head = [*wrap(self.headline, width, hanging=""), ""]
        for index in range(len(known[0].parts) if known else 0):
            parts = [pair.parts[index] for pair in known]
            groups = [
                [Column("neurons", tuple(str(pair.n_shared) for pair in known))],
                [Column(head, tuple(_number(getattr(part, field)) for part in parts)) for head, field in _HEADS],
                [Column("p", tuple(f"{part.p_value:.2g}" for part in parts))],
            ]
            lines += ["" for _ in lines[:1]] + [parts[0].name.replace("_", " ")] + table(names, groups, width)
        for pair in self.pairs:
            if pair.reason:
                lines += wrap(f"{pair.first} - {pair.second}: {pair.reason}", width)
        if known:
            lines += ["", *wrap(GAIN_NOTE, width, hanging="")]
        return "\n".join([*head, *lines])

    def _page(self) -> Page:
        from shesha.results.generic_page import generic_page

        return replace(generic_page(self), doubts=(Text(GAIN_NOTE),) if any(pair.parts for pair in self.pairs) else ())


GAIN_NOTE = (
    "Gains that differ between neurons change the geometry even if every neuron keeps its tuning, because cosine "
    "distances weight neurons by their rates. If rates also differ between sessions, a change of geometry is no "
    "evidence of a change in tuning."
)
_HEADS = (("between", "between"), ("within", "within"), ("change", "change"), ("chance", "null_mean"))


def _number(value: float) -> str:
    return f"{value:.3f}" if value == value else "-"
