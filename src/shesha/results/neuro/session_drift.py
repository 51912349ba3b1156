"""How rates, tuning or geometry change between sessions, each compared with its chance level."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shesha.report import Part, Table, Text, texts
from shesha.results.base import Result, draws_axes, reaches_level
from shesha.results.number import NAN, Number, numeral, numeral_of_p
from shesha.support.wording import count

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True, kw_only=True)
class SessionPart(Number):
    """How well two sessions agree in one respect."""

    value: float
    """Agreement between half of the trials of one session and half of the trials of the other."""
    within: float
    """Mean agreement between two halves of the trials of the same session, which is the limit that noise sets."""
    change_low: float = NAN
    """Lower end of the interval for the change, from random divisions of the trials of both sessions."""
    change_high: float = NAN
    change_p_value: float = NAN
    """p-value of the change; `p_value` belongs to the agreement between the sessions."""
    corrected_change_p_value: float = NAN
    """p-value of the change, corrected for the number of pairs and parts (step-down maximum)."""

    @property
    def change(self) -> float:
        """Agreement within sessions minus agreement between them: the change that noise does not explain."""
        return self.within - self.value


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
    n_draws: int
    alpha: float = 0.05
    confidence: float = 0.95
    seed: int | None = None

    def is_changed(self, part: SessionPart) -> bool:
        """Return whether the change of a part is significant, corrected for the number of pairs and parts.

        Parameters
        ----------
        part : SessionPart
            One of the parts of a pair.
        """
        return reaches_level(part.corrected_change_p_value, self.alpha)

    @property
    def headline(self) -> str:
        """How many pairs of sessions changed, and the largest change that can be interpreted."""
        known = [pair for pair in self.pairs if pair.parts]
        tests = [part for pair in known for part in pair if part.change_p_value == part.change_p_value]
        if not tests:
            return "No pair of sessions could be compared."
        of_pairs = f"{count(len(known), 'pair')} of sessions"
        changed: dict[str, list[SessionPair]] = {}
        for pair in known:
            for part in pair:
                changed.setdefault(part.name, []).extend([pair] if self.is_changed(part) else [])
        if not any(changed.values()):
            smallest = min(part.corrected_change_p_value for part in tests)
            tested = f"{count(len(tests), 'test')}, {of_pairs}"
            return (
                f"No significant change between sessions at {self.alpha:g} (smallest corrected p = {smallest:.2g}; "
                f"{tested})."
            )
        named = ", ".join(f"{len(pairs)} in {name.replace('_', ' ')}" for name, pairs in changed.items())
        name = min((name for name, pairs in changed.items() if pairs), key=_preference)
        pair = max(changed[name], key=lambda pair: pair[name].change)
        return (
            f"Of {of_pairs}, the number that changed significantly at {self.alpha:g} is {named}. The largest change in "
            f"{name.replace('_', ' ')} is between {pair.first} and {pair.second}: agreement "
            f"{pair[name].value:.2f} between sessions and {pair[name].within:.2f} within sessions (corrected p = "
            f"{pair[name].corrected_change_p_value:.2g})."
        )

    def _frame(self, *, full: bool) -> pd.DataFrame:
        """Return one row per pair of sessions and part."""
        import pandas as pd

        agreement = ("value", "chance", "chance_sd", "threshold", "p_value", "within")
        change = ("change", "change_low", "change_high", "change_p_value", "corrected_change_p_value")
        columns = (*agreement, *change)
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
    def plot(self, ax: Axes | None = None, *, title: str | None = None) -> Axes:
        """Draw how much each part changes over the pairs of sessions, in their order."""
        from shesha.charts import Series, intervals

        shown = [pair for pair in self.pairs if pair.parts]
        names = [f"{pair.first} - {pair.second}" for pair in shown]
        kinds = [part.name for part in shown[0].parts] if shown else []
        series = {}
        for kind in kinds:
            parts = [pair[kind] for pair in shown]
            series[kind] = Series(
                [part.change for part in parts],
                [part.change_low for part in parts],
                [part.change_high for part in parts],
            )
        return intervals(names, series, label="agreement within minus between sessions", joined=False, ax=ax)

    def _numbers(self) -> tuple[Part, ...]:
        """Return one table per part."""
        known = [pair for pair in self.pairs if pair.parts]
        names = [f"{pair.first} - {pair.second}" for pair in known]
        parts: list[Part] = []
        for index in range(len(known[0].parts) if known else 0):
            rows = [pair.parts[index] for pair in known]
            columns = {
                "neurons": [str(pair.n_shared) for pair in known],
                "between": [numeral(row.value) for row in rows],
                "chance": [numeral(row.chance) for row in rows],
                "p": [numeral_of_p(row.p_value) for row in rows],
                "within": [numeral(row.within) for row in rows],
                "change": [
                    f"{numeral(row.change)} [{numeral(row.change_low)}, {numeral(row.change_high)}]" for row in rows
                ],
                "p change": [numeral_of_p(row.corrected_change_p_value) for row in rows],
            }
            title = rows[0].name.replace("_", " ")
            parts += [Text(f"{title[:1].upper()}{title[1:]}"), Table.of(names, columns, title, "pair")]
        reasons = [f"{pair.first} - {pair.second}: {pair.reason}" for pair in self.pairs if pair.reason]
        return (*parts, *texts([*reasons, self._explanation if known else ""]))

    @property
    def notes(self) -> tuple[str, ...]:
        """A warning that applies to every change of geometry."""
        return (GAIN_NOTE,) if any(pair.parts for pair in self.pairs) else ()

    @property
    def _explanation(self) -> str:
        return (
            f"p tests whether agreement between sessions exceeds chance. Change is agreement within minus between "
            f"sessions, with its {100 * self.confidence:g} % interval; p change is corrected for all pairs and parts."
        )


GAIN_NOTE = (
    "Gains that differ between neurons change the geometry even if every neuron keeps its tuning, because cosine "
    "distances weight neurons by their rates. If rates also differ between sessions, a change of geometry is no "
    "evidence of a change in tuning."
)
_IN_ORDER = ("tuning", "rate", "population_vector", "geometry")
"""Parts in the order in which the headline chooses: changes in rate or tuning alone change the others as well."""


def _preference(name: str) -> int:
    return _IN_ORDER.index(name) if name in _IN_ORDER else len(_IN_ORDER)
