"""The shape that several representations share, and units that match one to one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from shesha.report import Drawing, Item, Page, Part, Section, Table, Text
from shesha.results import sentence_parts as say
from shesha.results.base import Listed, Result, draws_axes, reaches_level
from shesha.results.generic_page import run_details
from shesha.results.number import Number, format_value, frame_of_numbers
from shesha.support.seeds import ALPHA, CONFIDENCE, undecided
from shesha.support.wording import agree, count

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


_SHOWN = 10
_FEWEST = 3
"""Smallest number of different representations among which an outlier can be found."""


@dataclass(frozen=True, kw_only=True)
class Member(Number):
    """One of several representations, with its distance from the mean shape."""

    distance_to_all: float
    """Distance to the mean shape of all representations, which is too small because that mean includes this one."""


@dataclass(frozen=True)
class Consensus(Listed[Member], Result):
    """Several representations of the same rows, with their distances from the mean shape."""

    ITEMS = "members"

    members: tuple[Member, ...]
    """Representations, sorted by increasing distance."""
    spread: float
    """Root mean square of the distances to the mean shape of all representations."""
    n_rows: int
    n_features: int
    """Number of columns of the mean shape, which equals that of the widest representation."""
    scale: bool
    """Whether all representations were scaled to the same size."""
    alpha: float = ALPHA
    confidence: float = CONFIDENCE
    n_iterations: int = 0
    converged: bool = True
    notes: tuple[str, ...] = ()
    seed: int | None = None
    n_groups: int | None = None
    """Number of groups of rows that intervals leave out as wholes; None if rows are independent."""
    shared_p_value: float = float("nan")
    """p-value of the hypothesis that the representations share nothing (permutations of the rows of each one)."""
    interrupted: bool = False
    """Whether Ctrl-C ended the test of what is shared early."""
    copies: dict[str, str] = field(default_factory=dict)
    """Representations that equal another one up to rotation and scale, with the name of that one; they count once."""
    unmatched: tuple[str, ...] = ()
    """Outliers whose rows match those of the others no better than rows in random order do."""

    @property
    def shares_nothing(self) -> bool:
        """Whether the representations are no closer than after random matchings of their rows."""
        return self.shared_p_value == self.shared_p_value and not reaches_level(self.shared_p_value, self.alpha)

    @property
    def outlying(self) -> tuple[str, ...]:
        """Representations that are significantly farther from the mean shape than the others."""
        return tuple(member.name for member in self.members if reaches_level(member.corrected_p_value, self.alpha))

    def _frame(self, *, full: bool) -> pd.DataFrame:
        """Return one line per representation, the nearest first."""
        frame = frame_of_numbers(self.members, "name", "distance_to_all", full=full)
        outlying = [member.name in self.outlying for member in self.members]
        return frame.drop(columns="verdict", errors="ignore").assign(outlying=outlying)

    @draws_axes
    def plot(self, ax: Axes | None = None, *, title: str | None = None) -> Axes:
        """Draw how far each representation is from the mean shape of the others, with intervals."""
        from shesha.charts import model_bars

        outlying = self.outlying
        return model_bars(
            [f"{member.name} (outlying)" if member.name in outlying else member.name for member in self.members],
            [member.value for member in self.members],
            [(member.low, member.high) for member in self.members],
            label="distance to the mean of the others",
            ax=ax,
        )

    @property
    def headline(self) -> str:
        """The outliers, the representation nearest to all others, and copies."""
        return f"{self._outlier_sentence}{self._copies_sentence}"

    @property
    def _copies_sentence(self) -> str:
        listed = [f"{name} is a copy of {first}" for name, first in self.copies.items()]
        more = f" and {len(listed) - _SHOWN} more" if len(listed) > _SHOWN else ""
        return f" Copies count once: {'; '.join(listed[:_SHOWN])}{more}." if listed else ""

    @property
    def _outlier_sentence(self) -> str:
        first, outlying = self.members[0], self.outlying
        if self.shares_nothing:
            return (
                "No shared shape was found: the representations are not significantly closer than with randomly "
                f"matched rows (p = {self.shared_p_value:.2g}), so outliers cannot be decided."
            )
        n_different = len(self.members) - len(self.copies)
        if n_different < _FEWEST:
            return (
                f"Outliers cannot be decided: {n_different} of {len(self.members)} representations "
                f"{agree(n_different, 'is', 'are')} different, and at least {_FEWEST} are needed."
            )
        near = f"{first.name} is nearest to the others ({first.value:.3f})"
        if not outlying:
            return f"No representation is an outlier at {self.alpha:g}. {near}."
        verb = "is an outlier" if len(outlying) == 1 else "are outliers"
        order = (
            f" Rows of {', '.join(self.unmatched)} match those of the others no better than in random order, so check "
            "that they are the same inputs in the same order."
        ) * bool(self.unmatched)
        return f"{', '.join(outlying)} {verb} at {self.alpha:g}.{order} {near}."

    def _claim(self) -> str:
        rows = f"{self.n_rows:,} rows" + (f" in {self.n_groups:,} groups" if self.n_groups else "")
        shown = [member for member in self if member.name in self.outlying or member is self.members[0]]
        return say.listing(
            self.headline,
            () if self.shares_nothing else [say.clause(member, confidence=self.confidence) for member in shown],
            f"{count(len(self.members), 'representation')} of {rows}",
            "Procrustes distance to the mean shape of the others; one-sided Grubbs test, corrected by Holm",
            f"spread around the mean of all {say.format_number(self.spread)}",
            others="outliers",
        )

    def _page(self) -> Page:
        table = Table.of(
            [member.name for member in self.members],
            {
                "distance": map(format_value, self.members),
                "to the mean of all": [member.distance_to_all for member in self.members],
                "corrected p": [member.corrected_p_value for member in self.members],
            },
            "Distance to the mean shape of the others",
            "representation",
        )
        return Page(
            title="Consensus of representations",
            question="What shape do the representations share, how far is each from it, and which are outliers?",
            answer=(self.headline, f"Spread around the mean shape: {self.spread:.3f}."),
            numbers=(
                table,
                Text(_explanation(self), ""),
            ),
            doubts=tuple(Item(note) for note in (*[_INTERRUPTED] * self.interrupted, *self.notes)),
            sections=(Section("Around the mean shape", (Drawing(_PICTURE, self.plot),)),),
            ran=(("rows", f"{self.n_rows:,}"), *run_details(self)),
        )


_INTERRUPTED = "Interrupted: whether the representations share anything was not tested."
_PICTURE = "Distance of each representation to the mean shape of the others, with its interval."


def _explanation(result: Consensus) -> str:
    return (
        f"Distance is the Procrustes distance to the mean shape of the other representations, from 0 (equal up to "
        f"rotation) to 1.414. Brackets are {100 * result.confidence:g} % intervals ({result.n_rows:,} rows"
        + (f" in {result.n_groups:,} groups, which are left out as wholes" if result.n_groups else "")
        + ")."
    )


@dataclass(frozen=True, kw_only=True)
class UnitMatching(Number):
    """Matched units of two representations, best match first, and how many matches are above chance."""

    COLUMNS: ClassVar = {"first": "first", "second": "second", "value": "correlations"} | {
        "p_value": "p_values",
        "corrected_p_value": "corrected_p_values",
    }

    value: float
    """Sum of the correlations between matched units, divided by the number of units in the narrower representation."""
    first: tuple[int, ...]
    """Columns of X that were matched, sorted by decreasing correlation."""
    second: tuple[int, ...]
    """Columns of Y that are matched with those in `first`."""
    correlations: tuple[float, ...]
    p_values: tuple[float, ...]
    """p-value of each match: when rows are permuted, the share of units with similar activity whose correlation is at
    least as large."""
    corrected_p_values: tuple[float, ...]
    """p-values corrected for the number of units (Benjamini and Hochberg)."""
    widths: tuple[int, int]
    n_candidates: int
    n_needed: int = 0
    """Number of permutations that a single match among all units needs to be significant after correction."""

    @property
    def headline(self) -> str:
        """How many units have a match above chance, or that the permutations are too few to decide."""
        narrower, rate = min(self.widths), f"false discovery rate {100 * self.alpha:g} %"
        if self.undecided:
            return f"Whether any of {narrower:,} units has a match above chance ({rate}) {self.undecided}."
        verb = agree(self.n_matched, "has", "have")
        return f"{self.n_matched:,} of {narrower:,} units {verb} a match above chance ({rate})."

    @property
    def undecided(self) -> str:
        """Why no match could be significant: too few permutations for the number of units; empty if one could."""
        # A chance level is that of many units, so fewer permutations are needed than for tests with draws of their own.
        if self.n_draws >= self.n_needed:
            return ""
        text = undecided(self.p_values, self.corrected_p_values, 0, self.alpha)
        return text and f"cannot be decided with {self.n_draws:,} permutations: at least {self.n_needed:,}"

    @property
    def n_matched(self) -> int:
        """Number of matches above chance, at a false discovery rate of at most alpha."""
        return sum(reaches_level(p, self.alpha) for p in self.corrected_p_values)

    def _numbers(self) -> tuple[Part, ...]:
        """Return the score, and the matched pairs, best first."""
        columns = {
            "correlation": self.correlations,
            "corrected p": self.corrected_p_values,
        }
        names = [f"{i}, {j}" for i, j in zip(self.first, self.second, strict=True)]
        drawn = f"chance {self.chance:.3f} +- {self.chance_sd:.2g}, {self.n_draws} permutations, {self.exchanged}"
        mean = f"Mean correlation {self.value:.3f}, p = {self.p_value:.3g} ({drawn})."
        return (Text(mean), Table.of(names, columns, "Matched units (column of X, column of Y)", "pair"))

    def _claim(self) -> str:
        return (
            f"{self.headline} {say.statement(self, 'The mean correlation of matched units', f'{self.n_rows:,} rows')}"
        )
