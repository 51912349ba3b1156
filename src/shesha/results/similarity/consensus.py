"""How far several representations are from their mean shape, and which of them are outliers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shesha.report import Column, Drawing, Item, Page, Section, Table, Text
from shesha.results.base import Result, draws_axes, reaches_level
from shesha.results.generic_page import run_details
from shesha.results.number import Number, frame_of_numbers, numeral

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True, kw_only=True)
class Member(Number):
    """One of several representations, with its distance from the mean shape."""

    distance_to_all: float
    """Distance to the mean shape of all representations, which is too small because that mean includes this one."""


@dataclass(frozen=True)
class Consensus(Result):
    """Several representations of the same rows, with their distances from the mean shape."""

    members: tuple[Member, ...]
    """Representations, sorted by increasing distance."""
    spread: float
    """Root mean square of the distances to the mean shape of all representations."""
    n_rows: int
    n_features: int
    """Number of columns of the mean shape, which equals that of the widest representation."""
    scale: bool
    """Whether all representations were scaled to the same size."""
    alpha: float = 0.05
    confidence: float = 0.95
    n_iterations: int = 0
    converged: bool = True
    notes: tuple[str, ...] = ()
    seed: int | None = None
    shared_p_value: float = float("nan")
    """p-value of the hypothesis that the representations share nothing (permutations of the rows of each one)."""

    @property
    def shares_nothing(self) -> bool:
        """Whether the representations are no closer than after random matchings of their rows."""
        return self.shared_p_value == self.shared_p_value and not reaches_level(self.shared_p_value, self.alpha)

    def __iter__(self) -> Iterator[Member]:
        """Iterate over the representations, the nearest first."""
        return iter(self.members)

    def __getitem__(self, name: str) -> Member:
        """Return the representation with this name."""
        for member in self.members:
            if member.name == name:
                return member
        raise KeyError(f"name must be one of {', '.join(member.name for member in self.members)}, got {name!r}")

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
        """The outliers, and the representation nearest to all others."""
        first, outlying = self.members[0], self.outlying
        if self.shares_nothing:
            return (
                "The representations share no shape: they are no closer than with randomly matched rows "
                f"(p = {self.shared_p_value:.2g}). Whether one is an outlier has no answer."
            )
        near = f"{first.name} is nearest to the others ({first.value:.3f})"
        if not outlying:
            return f"No representation is an outlier at {self.alpha:g}. {near}."
        verb = "is an outlier" if len(outlying) == 1 else "are outliers"
        return f"{', '.join(outlying)} {verb} at {self.alpha:g}. {near}."

    def _page(self) -> Page:
        cells = (
            Column("distance", tuple(f"{member.value:.3f}" for member in self.members)),
            Column("interval", tuple(_interval(member) for member in self.members), "<"),
            Column("to the mean of all", tuple(f"{member.distance_to_all:.3f}" for member in self.members)),
            Column("corrected p", tuple(numeral(member.corrected_p_value) for member in self.members)),
        )
        names = tuple(member.name for member in self.members)
        return Page(
            title="Consensus of representations",
            question="What shape do the representations share, how far is each from it, and which are outliers?",
            answer=(self.headline, f"Spread around the mean shape: {self.spread:.3f}."),
            numbers=(
                Table(names, (cells,), "Distance to the mean shape of the others", "representation"),
                Text(_explanation(self), ""),
            ),
            doubts=tuple(Item(note) for note in self.notes),
            sections=(Section("Around the mean shape", (Drawing(_PICTURE, self.plot, wide=True),)),),
            ran=(("rows", f"{self.n_rows:,}"), *run_details(self)),
        )


def _interval(member: Member) -> str:
    return "" if member.low != member.low else f"[{member.low:.3f}, {member.high:.3f}]"


_PICTURE = "Distance of each representation to the mean shape of the others, with its interval."


def _explanation(result: Consensus) -> str:
    return (
        f"Distance is the Procrustes distance to the mean shape of the other representations, from 0 (equal up to "
        f"rotation) to 1.414. Brackets are {100 * result.confidence:g} % intervals ({result.n_rows:,} rows)."
    )
