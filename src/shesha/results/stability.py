"""Stability scores, and drift along a sequence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import hypot
from typing import TYPE_CHECKING, Any, ClassVar

from shesha.charts import curves, name_ticks
from shesha.report import Columns, Part, Table
from shesha.results import sentence_parts as say
from shesha.results.base import Result, draws_axes
from shesha.results.number import NAN, Number
from shesha.support.wording import count

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, kw_only=True)
class Estimate(Number):
    """A stability score with its interval and its chance level."""

    standard_error: float = NAN
    """Standard error due to the sample of rows."""
    monte_carlo_error: float = NAN
    """Standard error due to the random partitions (the seed); 0 for a score without draws."""
    pair_error: float = 0.0
    """Standard error due to sampling pairs of rows; 0 if all pairs were used."""
    n_features: int = 0
    n_partitions: int = 0
    """Number of partitions, rotations or resamples over which the score is averaged."""
    n_resamples: int = 0
    """Number of resamples of the rows from which the interval was computed; 0 if it is analytic or missing."""
    n_pairs: int = 0
    """Number of pairs of rows per draw, either all pairs or a sample; 0 for a score that does not use pairs."""
    pairs_dropped: int = 0
    """Number of pairs left out because a row has no direction within a half, summed over the draws."""
    options: dict[str, Any] = field(default_factory=dict)
    """Options with which the computation can be repeated."""
    aliases: ClassVar[tuple[str, ...]] = (*Number.aliases, "total_error")

    @property
    def total_error(self) -> float:
        """Square root of the sum of the three squared errors, all of which the interval covers."""
        return hypot(self.standard_error, self.monte_carlo_error, self.pair_error)

    @property
    def sampled_pairs(self) -> str:
        """How many pairs of rows were sampled, in parentheses after a space; empty if all were used."""
        return f" ({self.n_pairs:,} sampled pairs)" if self.pair_error != 0 else ""

    def _further_lines(self) -> Iterator[str]:
        """Yield the calibration, the data that the score is based on, and its errors."""
        yield from super()._further_lines()
        if not self.has_value:
            return
        how = f"{self.n_resamples} row resamples" if self.n_resamples else "analytic, over rows"
        interval = f"; {100 * self.confidence:g} % interval from {how}" if self.has_interval else ""
        yield (
            f"{self.n_rows:,} rows x {self.n_features:,} features, {count(self.n_partitions, 'partition')}, "
            f"{self.n_pairs:,} pairs{interval}"
        )
        errors = {"rows": self.standard_error, "partitions": self.monte_carlo_error, "sampled pairs": self.pair_error}
        known = (f"{name}: {f'{error:.1g}' if error == error else 'unknown'}" for name, error in errors.items())
        yield f"standard error from {', '.join(known)}, all: {self.total_error:.1g}"
        if self.pairs_dropped:
            yield f"{self.pairs_dropped:,} undefined pairs left out"

    def _claim(self) -> str:
        name, sampled = say.add_source(self.name, self.name.replace("_", " ")), self.sampled_pairs
        return say.statement(
            self, f"{name[:1].upper()}{name[1:]}", f"{self.n_rows:,} rows{sampled} and {self.n_features:,} features"
        )


@dataclass(frozen=True)
class DriftPath(Result):
    """How far each representation in a sequence has drifted."""

    COLUMNS: ClassVar = {"representation": "names", "from_first": "from_first", "from_previous": "from_previous"}

    names: tuple[str, ...]
    from_first: tuple[float, ...]
    from_previous: tuple[float, ...]
    method: str
    metric: str
    reasons: tuple[str, ...] = ()
    """For each representation, why its drift is missing; an empty text if the drift is known."""

    @property
    def headline(self) -> str:
        """Which representation has drifted farthest from the first."""
        known = [(value, name) for value, name in zip(self.from_first, self.names, strict=True) if value == value]
        if not known:
            return "Drift could not be estimated for any representation."
        value, name = max(known)
        return f"Largest drift from {self.names[0]}: {value:.3f} ({name}). 0 means the same geometry, 1 unrelated."

    @draws_axes
    def plot(self, ax: Axes | None = None, *, title: str | None = None) -> Axes:
        """Draw the drift from the first and from the previous representation along the sequence."""
        values = {"from the first": self.from_first, "from the previous": self.from_previous}
        drift, is_numbered = "drift (0 = same geometry, 1 = unrelated)", all(name.isdecimal() for name in self.names)
        steps = [int(name) for name in self.names] if is_numbered else list(range(len(self.names)))
        ax = curves(steps, values, labels=("step" if is_numbered else "", drift), ax=ax)
        if is_numbered:
            ax.locator_params(axis="x", integer=True)
        else:
            name_ticks(ax, self.names)
        ax.set_ylim(-0.02, max(1.02, ax.get_ylim()[1]))
        return ax

    def _numbers(self) -> tuple[Part, ...]:
        """Return one row per representation."""
        reasons = self.reasons or ("",) * len(self.names)
        columns: Columns = {
            "from the first": self.from_first,
            "from the previous": self.from_previous,
            "": reasons,
        }
        return (Table.of(self.names, columns, "Drift", "representation"),)

    def _claim(self) -> str:
        source = say.add_source("rdm_drift", "RDM drift")
        return say.listing(self.headline, (), source, count(len(self.names), "representation"))
