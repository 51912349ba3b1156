"""Results on recorded neurons: scores of trials, agreement over time, and drift between sessions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import isnan, log
from typing import TYPE_CHECKING, Any

import numpy as np

from shesha.report import Columns, Part, Table, numeral, texts
from shesha.results import sentence_parts as say
from shesha.results.base import Listed, Result, draws_axes, reaches_level
from shesha.results.number import NAN, TIE, Number
from shesha.support.seeds import ALPHA, CONFIDENCE
from shesha.support.wording import count

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


SIDES = {"higher": "above", "lower": "below", "either": "beyond"}
"""How a significant score relates to chance, by the direction of its effect."""


@dataclass(frozen=True, kw_only=True)
class TrialScore(Number):
    """A score of trials with its null distribution; `exchanged` describes which trials were permuted."""

    SHOWS_DIRECTION = False

    closer: str
    """Direction of the effect: 'higher', 'lower' or 'either'."""
    n_neurons: int
    column_noun: str = "neurons"
    """What the columns of the responses are called: 'neurons', or 'columns' if they are channels or voxels."""
    n_conditions: int = 0
    """Number of conditions that enter the score; 0 for a score without conditions."""
    n_unused: int = 0
    """Number of trials that were not used because conditions must have equally many; the mean over draws."""
    dropped: tuple[str, ...] = ()
    """Conditions that were left out because one half has too few trials."""
    further: dict[str, float] = field(default_factory=dict)
    """Further numbers that were computed from the same trials, by name."""
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def is_tested(self) -> bool:
        """Whether some permutation gives another value than the recorded order."""
        return self.has_null and not all(abs(draw - self.value) <= TIE for draw in self.null)

    @property
    def _verdict_at_level(self) -> str:
        if not self.is_tested:
            return "cannot be tested, because every permutation gives this value"
        return f"{'' if self.significant else 'not '}{SIDES[self.closer]} chance at {self.alpha:g}"

    def _further_lines(self) -> Iterator[str]:
        """Yield the calibration, the trials that the score is based on, and further numbers."""
        yield from super()._further_lines()
        unused = f" ({self.n_unused:,} unused in each draw)" if self.n_unused else ""
        conditions = f", {count(self.n_conditions, 'condition')}" if self.n_conditions else ""
        yield f"{self.n_rows:,} trials{unused} x {self.n_neurons:,} {self.column_noun}{conditions}"
        yield from (f"{name} {value:.4f}" for name, value in self.further.items())

    def _claim(self) -> str:
        unused = f" ({self.n_unused:,} of them unused in each draw)" if self.n_unused else ""
        over = f"{self.n_rows:,} trials{unused} of {self.n_neurons:,} {self.column_noun}"
        over += f" under {count(self.n_conditions, 'condition')}" if self.n_conditions else ""
        drawn = say.draws(self.n_draws, "the trials" if self.exchanged in ("", "all rows") else self.exchanged)
        name = self.name.replace("_", " ")
        return say.statement(self, f"The score {name}", over, side=SIDES[self.closer], drawn=drawn)


@dataclass(frozen=True, kw_only=True)
class OverTime(Number):
    """Agreement of the distances between all pairs of times, with a null distribution of its maximum."""

    ALIGNED = (("times", "values"),)

    times: tuple[float, ...]
    values: tuple[tuple[float, ...], ...]
    """Agreement between halves of the trials, one half at time i and the other at time j."""
    chances: tuple[tuple[float, ...], ...]
    """Mean of each entry of `values` over the permutations."""
    p_values: tuple[tuple[float, ...], ...]
    """p-value of each entry under the null distribution of the largest entry, which corrects for the number of entries.
    """
    value: float
    """Largest entry of `values`."""
    n_neurons: int
    n_conditions: int
    column_noun: str = "neurons"
    null: tuple[float, ...] = ()
    """The largest entry for each permutation."""
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def argmax(self) -> tuple[float, float]:
        """The two times with the largest value; NaN if there is none."""
        cells = np.array(self.values)
        if np.isnan(cells).all():
            return float("nan"), float("nan")
        i, j = np.unravel_index(int(np.nanargmax(cells)), cells.shape)
        return self.times[i], self.times[j]

    def _frame(self, *, full: bool) -> pd.DataFrame:
        """Return one row per pair of times."""
        import pandas as pd

        grid = [(i, j) for i in range(len(self.times)) for j in range(len(self.times))]
        return pd.DataFrame(
            [
                {
                    "time": self.times[i],
                    "other_time": self.times[j],
                    "value": self.values[i][j],
                    "chance": self.chances[i][j],
                    "p_value": self.p_values[i][j],
                }
                for i, j in grid
            ]
        )

    def to_xarray(self) -> Any:
        """Return the values as an xarray.DataArray that is indexed by both times."""
        from shesha.inputs import make_data_array

        axes = {"time": self.times, "other time": self.times}
        return make_data_array(np.array(self.values), axes, "agreement", "neuro")

    @draws_axes
    def plot(self, ax: Axes | None = None, *, title: str | None = None) -> Axes:
        """Draw the values, with frames around those that exceed the threshold of the maximum."""
        from shesha.charts import frame_cell, full_range, heat_map

        names = [f"{time:.3g}" for time in self.times]
        values, meaning = np.array(self.values), "agreement of distances between times"
        ax = heat_map(values, names, names, title=meaning, limits=full_range(values, "higher"), ax=ax)
        for i, line in enumerate(self.p_values):
            for j, p in enumerate(line):
                if reaches_level(p, self.alpha):
                    frame_cell(ax, i, j)
        return ax

    @property
    def headline(self) -> str:
        """The largest agreement between times, and whether it is above chance."""
        if self.value != self.value:
            return f"Agreement over time is not estimable: {self.reason}."
        first, second = self.argmax
        verdict = f", {self.verdict} at {self.alpha:g} (p = {self.p_value:.3g})" if self.has_null else ""
        return f"The largest agreement between times is {self.value:.3f}, at {first:g} and {second:g}{verdict}."

    def _numbers(self) -> tuple[Part, ...]:
        """Return the chance level of the largest value, and how many entries exceed its threshold."""
        size = f"{self.n_rows:,} trials x {self.n_neurons:,} {self.column_noun}, {self.n_conditions} conditions."
        if not self.has_null:
            return texts([size])
        n_above = sum(reaches_level(p, self.alpha) for line in self.p_values for p in line)
        return texts(
            [
                f"Chance level of the largest: {self.chance:.4f} +- {self.chance_sd:.2g} ({self.n_draws} "
                f"{'permutations' if self.exchanged == 'all rows' else self.exchanged}). {n_above} of "
                f"{len(self.times) ** 2} entries are above {self.threshold:.4f}, the chance threshold of the maximum.",
                size,
            ]
        )

    def _claim(self) -> str:
        first, second = self.argmax
        over = (
            f"{self.n_rows:,} trials of {self.n_neurons:,} {self.column_noun} under "
            f"{count(self.n_conditions, 'condition')} (at {first:g} and {second:g})"
        )
        subject = "The largest agreement of distances between times"
        drawn = say.draws(self.n_draws, "the trials" if self.exchanged == "all rows" else self.exchanged)
        said = say.statement(self, subject, over, null="null of the largest:", drawn=drawn)
        if not self.has_null:
            return said
        n_above = sum(reaches_level(p, self.alpha) for line in self.p_values for p in line)
        return f"{said}; {n_above} of {len(self.times) ** 2} pairs of times are above the threshold of the largest"


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
class SessionPair(Listed[SessionPart], Result):
    """Two sessions, with their common neurons and conditions and how well they agree."""

    ITEMS = "parts"
    KEY = "part"

    first: str
    second: str
    n_shared: int
    """Number of neurons recorded in both sessions; the null distribution uses the same number."""
    n_conditions: int
    """Number of conditions presented in both sessions."""
    parts: tuple[SessionPart, ...] = ()
    reason: str = ""
    """Why numbers are missing; empty if none is."""
    matched: bool = True
    """Whether neurons of both sessions agree more than randomly matched ones, or a table of tracked neurons was given.
    """
    gain: float = NAN
    """Mean response of the common neurons to the common conditions in the second session, divided by that in the first;
    NaN if a mean is not positive. No part depends on it, because all are correlations."""
    has_other_gain: bool = False
    """Whether the gain differs from 1 by a tenth or more, and by more than halves of one session differ."""


@dataclass(frozen=True)
class SessionDrift(Result):
    """The results for all pairs of sessions."""

    sessions: tuple[str, ...]
    pairs: tuple[SessionPair, ...]
    n_draws: int
    alpha: float = ALPHA
    confidence: float = CONFIDENCE
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
        others = [f"{pair.first} and {pair.second}" for pair in self.pairs if not pair.matched]
        doubt = (
            f"Neurons could not be matched between sessions {'; '.join(others[:_MOST_PAIRS])}"
            f"{f' and {len(others) - _MOST_PAIRS} more pairs' * (len(others) > _MOST_PAIRS)}: those of one name or "
            "position agree no more than random pairs do. Numbers of units restart in each session; pass tracked=."
        )
        known = [pair for pair in self.pairs if pair.parts and pair.matched]
        gains = [pair for pair in known if pair.has_other_gain]
        texts = [doubt] * bool(others) + [self._changes(known)] * bool(known or not others)
        if gains:
            pair = max(gains, key=lambda pair: abs(log(pair.gain)))
            more = f" (the largest of {count(len(gains), 'such change')})" if len(gains) > 1 else ""
            texts.append(f"Mean responses in {pair.second} are {pair.gain:.2f} times those in {pair.first}{more}.")
        return " ".join(texts)

    def _changes(self, known: list[SessionPair]) -> str:
        """Return how many of the pairs changed, and the largest change."""
        tests = [part for pair in known for part in pair if not isnan(part.change_p_value)]
        if not tests:
            return "No pair of sessions could be compared."
        of_pairs = f"{count(len(known), 'pair')} of sessions"
        unknown = "".join(f" ({part.name} is not estimable)" for part in self._unknown(known))
        changed: dict[str, list[SessionPair]] = {}
        for pair in known:
            for part in pair:
                if not isnan(part.change_p_value):
                    changed.setdefault(part.name, []).extend([pair] if self.is_changed(part) else [])
        if not any(changed.values()):
            smallest = min(part.corrected_change_p_value for part in tests)
            tested = f"{count(len(tests), 'test')}, {of_pairs}"
            return (
                f"No significant change between sessions at {self.alpha:g}{unknown} (smallest corrected p = "
                f"{smallest:.2g}; {tested})."
            )
        named = ", ".join(f"{len(pairs)} in {name.replace('_', ' ')}" for name, pairs in changed.items())
        named += unknown
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
            record |= {"n_conditions": pair.n_conditions, "gain": pair.gain}
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
        """Return one table of all parts and pairs."""
        known = [pair for pair in self.pairs if pair.parts]
        rows = [(pair, pair.parts[index]) for index in range(len(known[0].parts) if known else 0) for pair in known]
        columns: Columns = {
            "neurons": [pair.n_shared for pair, _ in rows],
            "between": [part.value for _, part in rows],
            "chance": [part.chance for _, part in rows],
            "p": [part.p_value for _, part in rows],
            "within": [part.within for _, part in rows],
            "change": [
                f"{numeral(part.change)} [{numeral(part.change_low)}, {numeral(part.change_high)}]"
                * (not isnan(part.change))
                for _, part in rows
            ],
            "p change": [part.corrected_change_p_value for _, part in rows],
        }
        names = [f"{part.name.replace('_', ' ')}, {pair.first} - {pair.second}" for pair, part in rows]
        parts = [Table.of(names, columns, "Agreement between sessions", "part and pair")] if rows else []
        reasons = [f"{pair.first} - {pair.second}: {pair.reason}" for pair in self.pairs if pair.reason]
        unknown = [f"{part.name} is not estimable: {part.reason}." for part in self._unknown(known)]
        return (*parts, *texts([*reasons, *unknown, self._explanation if known else ""]))

    def _unknown(self, pairs: list[SessionPair]) -> list[SessionPart]:
        """Return the first part of each name that has a reason for its missing value."""
        return list({part.name: part for pair in reversed(pairs) for part in pair if part.reason}.values())

    @property
    def notes(self) -> tuple[str, ...]:
        """A warning that applies to every change of geometry."""
        return (GAIN_NOTE,) if any(pair.parts for pair in self.pairs) else ()

    def _claim(self) -> str:
        clauses = [
            say.clause(
                part, f"{pair.first} and {pair.second} ({pair.n_shared:,} neurons), {part.name.replace('_', ' ')}"
            )
            + f", within sessions {say.format_number(part.within)}"
            + f", change{say.interval(part.change_low, part.change_high, self.confidence)}"
            + f", corrected {say.equal_p(part.corrected_change_p_value)}" * (not isnan(part.change_p_value))
            for pair in self.pairs
            for part in pair
        ]
        return say.listing(
            self.headline,
            clauses,
            f"agreement between halves of the trials of {len(self.sessions)} sessions",
            f"{self.n_draws:,} random matchings of neurons (for the geometry, of conditions) for agreement, and as "
            "many random divisions of the trials for changes",
            "p of changes corrected for the number of pairs and parts",
            others="comparisons",
        )

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
_MOST_PAIRS = 3
"""Number of pairs of sessions that the headline names."""
_IN_ORDER = ("tuning", "rate", "population_vector", "geometry")
"""Parts in the order in which the headline chooses: changes in rate or tuning alone change the others as well."""


def _preference(name: str) -> int:
    return _IN_ORDER.index(name) if name in _IN_ORDER else len(_IN_ORDER)
