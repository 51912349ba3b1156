"""The dependence between rows, and advice."""

from __future__ import annotations

from dataclasses import dataclass

from shesha.results.base import Result

LEVEL = 0.002
"""Beyond which neighbours are called closer than random rows: clean data raise no warning then."""
MANY, FEW = 0.05, 3
"""Share of repeated rows that matters, and their number."""
LONG_ENOUGH = 30
"""Rows per row of memory from which circular shifts hold their level (docs/calibration.md has the measurements)."""

DRIFT = (
    "rows drift smoothly over their whole order: neither permutations nor shifts or stretches, however long a series, "
    "tell a common drift from a relation. Take it out (covariates=time, with its powers), or compare sessions"
)
ALTERNATION = (
    "every other row is alike and neighbours are not, so two representations that alternate together look related. "
    "Pass what alternates (the parity of the row, the condition) as within=, or as covariates="
)
DRIFTS = 1.5
"""Persistence from which rows drift: stationary series that are long enough rarely pass 1."""


def describe_period(period: float) -> str:
    """Say that rows repeat, and what to do about it."""
    return (
        f"rows repeat with a period of about {period:.3g} rows, and series that share a phase look related under every "
        "exchange that keeps the order. Pass the phase as covariates=: the sine and cosine of 2 pi t / "
        f"{period:.4g}, and of its multiples where the wave has other shapes"
    )


@dataclass(frozen=True)
class Dependence(Result):
    """Signs that rows depend on one another; what several representations share counts."""

    n_rows: int
    p_value: float
    """Of the distance between neighbours in the order given, beside random orders; the weakest representation's."""
    closeness: float
    """Mean rank of the distance between neighbours, from 0 to 1: about 0.5 in a random order."""
    memory: float
    """Rows that a series remembers: twice the sum of the autocorrelations, multiplied over the representations, up to
    the first that is not positive; 0 where rows do not depend on those before."""
    repeated: tuple[int, ...] = ()
    """Rows that repeat an earlier one exactly, in every representation; rows of zeros aside."""
    nearly_repeated: tuple[int, ...] = ()
    """Of the rows looked at, those far closer to another one than the spacing of the others explains."""
    n_looked_at: int = 0
    discrete: bool = False
    """Whether some representation takes few values: rows then repeat of themselves."""

    persistence: float = 0.0
    """What is left of the autocorrelation between an eighth and a quarter of the rows apart, in units of what memory
    that dies out leaves there by chance; the weakest representation's."""
    period: float = 0.0
    """Rows after which all representations repeat, in phase over the whole series; 0 where they do not."""
    alternation_p_value: float = 1.0
    """Of neighbours being farther apart than random rows and every other row closer; the weakest representation's."""

    @property
    def has_drift(self) -> bool:
        """Whether dependence does not die out within the rows: a drift, or a memory as long as the series."""
        return self.has_order and self.persistence >= DRIFTS

    @property
    def has_order(self) -> bool:
        """Whether neighbours are closer than random rows."""
        return self.p_value <= LEVEL

    @property
    def has_alternation(self) -> bool:
        """Whether every other row is alike, and neighbours are not."""
        return self.alternation_p_value <= LEVEL

    @property
    def has_repeats(self) -> bool:
        """Whether more rows repeat than a few, and not because there are few values."""
        share = len(self.repeated) / self.n_rows + len(self.nearly_repeated) / max(1, self.n_looked_at)
        number = len(self.repeated) + len(self.nearly_repeated)
        return share >= MANY and number >= FEW and not self.discrete

    @property
    def is_dependent(self) -> bool:
        """Whether rows look dependent."""
        return self.has_order or self.has_repeats or self.has_alternation or self.period > 0

    def is_short(self, n_rows: float) -> bool:
        """Whether a series of so many rows is short against its memory: circular shifts then find too much."""
        return n_rows < LONG_ENOUGH * self.memory

    @property
    def text(self) -> str:
        """What is the matter and what to pass, or nothing."""
        said = []
        if self.period:
            said.append(describe_period(self.period))
        elif self.has_order:
            said.append(
                f"neighbouring rows are closer than random ones (p = {self.p_value:.1g}): for a series pass shift=True "
                "(and its sessions as blocks), for batches blocks=, for trials or subjects groups=; where rows were "
                "only sorted, by class say, shuffle them, the same way everywhere. A drift over all rows defeats every "
                "permutation of rows"
            )
        elif self.has_alternation:
            said.append(ALTERNATION)
        if self.has_drift:
            said.append(DRIFT)
        if self.has_repeats:
            said.append(
                f"{len(self.repeated)} rows repeat an earlier one and {len(self.nearly_repeated)} of "
                f"{self.n_looked_at} looked at nearly repeat another: pass what they repeat as groups=, or keep one "
                "of each"
            )
        return "; ".join(said)

    def __str__(self) -> str:
        """Print what is the matter, or that nothing was found."""
        return f"rows look dependent: {self.text}" if self.is_dependent else "no sign that rows depend on one another"
