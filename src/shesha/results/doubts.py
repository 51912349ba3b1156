"""Possible problems with a conclusion, sorted by importance, and signs that rows depend on one another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shesha.report import page_width, wrap
from shesha.results.base import Result, draws_axes
from shesha.support.wording import agree, count, lowercase_start

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


_LEAST = 1e-12
"""Smallest p-value that is reported as a number, because approximations are unreliable below it."""


OF_VALUES = frozenset(
    (
        *("raw counts", "two logarithms", "wrong type", "missing codes", "mixed lengths", "no variation", "angles"),
        "rounded values",
    )
)
"""Doubts that the values are what was meant. Other problems may follow from them, so they come first."""
OF_ROWS = frozenset(("row offset", "unmatched rows", "equal rows", "joined rows", "order of pairs"))
"""Doubts that row i is the same input on both sides."""


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
    def order(self) -> tuple[bool, float]:
        """Place in a list: doubts about the values themselves come first, then those with the largest effect."""
        return self.name not in OF_VALUES, -self.effect

    @property
    def evidence(self) -> str:
        """Return the size of the effect, and the p-value if there is one."""
        if self.p_value is None:
            return f"effect {self.effect:.2f}"
        p = f"p = {self.p_value:.1g}" if self.p_value >= _LEAST else f"p < {_LEAST:g}"
        return f"effect {self.effect:.2f}, {p}"


@dataclass(frozen=True)
class Doubts(Result):
    """All problems found in the data: those of the values themselves first, then by decreasing effect."""

    found: tuple[Doubt, ...]
    headline: str = ""
    """Name of the score whose change measures how large the effect of a problem is."""
    value: float | None = None
    """Value of that score for the checked rows; None if no check needed it or it could not be computed."""
    n_looked_at: int = 0
    """Number of rows that were checked. The checks of row lengths, repeated rows and columns used every row instead."""
    reason: str = ""
    """Why checks were skipped; empty if every check ran."""
    seed: int | None = None

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
        ax = class_values(self.names, effects, none, [True] * len(effects), label=label, tested=False, ax=ax)
        if not self.found:
            ax.text(0.5, 0.0, self.reason or "no problem found", ha="center", va="center")
        return ax

    def _text(self) -> str:
        """Return the doubts as text, or say that no problem was found or why nothing was checked."""
        if not self.found and not self.reason:
            return f"no problem found in {self.n_looked_at:,} checked rows"
        return "\n".join(line for sentence in self.sentences for line in wrap(sentence, page_width()))

    @property
    def sentences(self) -> tuple[str, ...]:
        """A numbered sentence for each doubt, and why checks were skipped."""
        known = [f"{place}. {doubt}" for place, doubt in enumerate(self.found, 1)]
        skipped = f"{'Some checks were not' if self.headline else 'No checks were'} possible: {self.reason}"
        return (*known, skipped) if self.reason else tuple(known)


LEVEL = 0.002
"""Significance level of the test for close neighbours, which is so low that independent rows rarely raise a warning."""
_SUGGESTIVE = 0.05
"""p-value of close neighbours up to which close rows two positions apart are explained by the order of the rows."""
_MANY, _FEW = 0.05, 3
"""Repeated rows raise a warning if they make up at least this share of the rows and there are at least this many."""
LONG_ENOUGH = 30
"""Smallest ratio of length to memory at which circular shifts keep their error rate (see docs/calibration.md)."""

DRIFT = (
    "Rows drift smoothly over the whole series. No permutation, circular shift or random segment distinguishes a "
    "shared drift from another relation between representations. Pass time and its powers as covariates= to remove the "
    "drift, or compare sessions"
)
ALTERNATION = (
    "Rows two positions apart are similar, but consecutive rows are not. Two representations with the same "
    "alternation look related even if they are not. Pass the alternating variable (the condition, or odd against even "
    "rows) as within= or covariates="
)
DRIFTS = 1.5
"""Persistence from which a series is said to drift; sufficiently long stationary series rarely exceed 1."""


def describe_period(period: float) -> str:
    """Describe the period with which the rows repeat, why it matters, and what to do about it."""
    return (
        f"Rows repeat with a period of about {period:.3g} rows. Series with the same phase look related under every "
        "permutation that keeps the row order. Pass shift=True, and the phase as covariates=: the sine and cosine of "
        f"2 pi t / {period:.4g}, and of its multiples if the wave is not sinusoidal. If subjects or conditions take "
        "turns, pass them as blocks= or covariates= instead"
    )


@dataclass(frozen=True)
class Dependence(Result):
    """Signs that the rows of all representations depend on one another."""

    n_rows: int
    p_value: float
    """p-value of the mean distance between consecutive rows, compared with random orders of the rows; the largest
    p-value of all representations."""
    closeness: float
    """Mean rank of the distance between consecutive rows, from 0 to 1; about 0.5 if the order is random."""
    memory: float
    """Memory of a series in rows: twice the sum of the products of autocorrelations, up to lags of five memories; 0 if
    rows do not depend on earlier rows."""
    repeated: tuple[int, ...] = ()
    """Rows that, in every representation, exactly repeat an earlier row; rows of zeros do not count."""
    nearly_repeated: tuple[int, ...] = ()
    """Among the checked rows, those much closer to another row than the spacing of the remaining rows explains."""
    n_looked_at: int = 0
    discrete: bool = False
    """Whether every representation has so few distinct values that repeated rows are expected."""

    persistence: float = 0.0
    """Autocorrelation at lags from an eighth to a quarter of the number of rows, divided by the size that it would have
    if the memory decayed; the smallest ratio of all representations."""
    period: float = 0.0
    """Period, in rows, that all representations share and that keeps its phase over the series; 0 if there is none."""
    alternation_p_value: float = 1.0
    """p-value of the mean distance between rows two positions apart, from random orders; the largest of all
    representations."""

    @property
    def has_drift(self) -> bool:
        """Whether the dependence does not decay: the series drifts, or its memory is as long as it is."""
        return self.has_order and self.persistence >= DRIFTS

    @property
    def has_order(self) -> bool:
        """Whether consecutive rows, or rows up to two positions apart, are closer to each other than random rows."""
        return self.p_value <= (_SUGGESTIVE if self.alternation_p_value <= LEVEL else LEVEL)

    @property
    def has_alternation(self) -> bool:
        """Whether rows two positions apart resemble each other although consecutive rows do not."""
        return self.alternation_p_value <= LEVEL and not self.has_order

    @property
    def has_repeats(self) -> bool:
        """Whether more than a few rows are repeated although the values are not discrete."""
        share = len(self.repeated) / self.n_rows + len(self.nearly_repeated) / max(1, self.n_looked_at)
        number = len(self.repeated) + len(self.nearly_repeated)
        return share >= _MANY and number >= _FEW and not self.discrete

    @property
    def is_dependent(self) -> bool:
        """Whether there is any sign that rows depend on one another."""
        return self.has_order or self.has_repeats or self.has_alternation or self.period > 0

    def is_short(self, n_rows: float) -> bool:
        """Return whether a series is too short for its memory, so that circular shifts find too many effects."""
        return n_rows < LONG_ENOUGH * self.memory

    @property
    def signs(self) -> str:
        """What shows that rows depend on one another, without advice; empty if nothing does."""
        n_repeats = len(self.repeated) + len(self.nearly_repeated)
        nearly = "nearly " if len(self.nearly_repeated) > len(self.repeated) else ""
        repeat = nearly + agree(n_repeats, "repeats", "repeat")
        known = (
            (self.period > 0, f"rows repeat with a period of about {self.period:.3g} rows"),
            (self.has_order, f"consecutive rows are closer than random rows (p = {self.p_value:.1g})"),
            (self.has_alternation, "rows two positions apart are similar, but consecutive rows are not"),
            (self.has_repeats, f"{count(n_repeats, 'row')} {repeat} another row"),
        )
        return ", and ".join(sign for there, sign in known if there)

    @property
    def text(self) -> str:
        """The problem with advice; empty if there is no problem."""
        clauses = []
        if self.period:
            clauses.append(describe_period(self.period))
        elif self.has_order:
            clauses.append(
                f"Consecutive rows are closer than random rows (p = {self.p_value:.1g}). For a time series, pass "
                "shift=True (and its sessions as blocks=). For batches, pass blocks=, and for trials or subjects, "
                "groups=. If rows were only sorted, for example by class, shuffle all representations in the same "
                "way. No permutation of rows corrects for a drift over all rows"
            )
        elif self.has_alternation:
            clauses.append(ALTERNATION)
        if self.has_drift:
            clauses.append(DRIFT)
        if self.has_repeats:
            n = len(self.repeated)
            clauses.append(
                f"{count(n, 'row')} {agree(n, 'repeats', 'repeat')} an earlier row, and {len(self.nearly_repeated)} of "
                f"{self.n_looked_at} checked rows nearly repeat another row. Pass sets of duplicates as groups=, or "
                "keep one row of each set"
            )
        return lowercase_start(". ".join(clauses))

    def _text(self) -> str:
        """Return the problem as text, or a statement that none was found."""
        return f"rows seem dependent: {self.text}" if self.is_dependent else "no sign that rows depend on one another"
