"""Facts: numbers with intervals that a study found, by which claims are judged."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import isnan
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

if TYPE_CHECKING:
    import pandas as pd

NAN = float("nan")
_COLUMNS = ("value", "low", "high", "words")


@dataclass(frozen=True)
class Fact:
    """A number with its 95 % interval; limits are NaN if nothing was sampled.

    Words, if there are any, are printed in its place.

    Examples
    --------
    >>> f"{Fact(0.323, 0.05, 0.55):+.2f}, {Fact(3.0):.0f}"
    '+0.32 [+0.05, +0.55], 3'
    """

    value: float
    low: float = NAN
    high: float = NAN
    words: str = field(default="", kw_only=True)

    def __format__(self, spec: str) -> str:
        """Print the number, and its interval where there is one."""
        if self.words:
            return self.words
        told = format(self.value, spec)
        if isnan(self.low):
            return told
        return f"{told} [{self.low:{spec}}, {self.high:{spec}}]"

    @property
    def limits(self) -> tuple[float, float]:
        """The interval, or the number twice."""
        return (self.value, self.value) if isnan(self.low) else (self.low, self.high)


Facts = Mapping[str, Fact]
MakeFacts = Callable[["pd.DataFrame", "pd.DataFrame | None"], Facts]


def as_facts(values: Mapping[str, Any], prefix: str = "") -> dict[str, Fact]:
    """Return numbers and words as facts without intervals, under names that begin alike.

    Examples
    --------
    >>> found = as_facts({"rho": 0.5, "best": "CKA"}, "drift ")
    >>> f"{found['drift rho']:.2f}, {found['drift best']}"
    '0.50, CKA'
    """
    return {prefix + str(name): _as_fact(one) for name, one in values.items()}


def _as_fact(found: Any) -> Fact:
    if isinstance(found, Fact):
        return found
    return Fact(0.0, words=found or "none") if isinstance(found, str) else Fact(float(found))


def over_draws(values: ArrayLike) -> Fact:
    """Mean of independent draws, with Student's interval.

    Examples
    --------
    >>> f"{over_draws([1.0, 2.0, 3.0]):.2f}"
    '2.00 [-0.48, 4.48]'
    """
    from scipy.stats import t

    drawn = np.asarray(values, dtype=np.float64)
    drawn = drawn[np.isfinite(drawn)]
    if len(drawn) < 2:
        return Fact(float(drawn.mean()) if len(drawn) else NAN)
    half = float(t.ppf(0.975, len(drawn) - 1) * drawn.std(ddof=1) / np.sqrt(len(drawn)))
    mean = float(drawn.mean())
    return Fact(mean, mean - half, mean + half)


def rate(hits: int, n: int) -> Fact:
    """A counted share, with the interval of Clopper and Pearson.

    Examples
    --------
    >>> f"{rate(5, 100):.3f}"
    '0.050 [0.016, 0.113]'
    """
    from shesha.studies.rates import rate_interval

    return Fact(hits / n, *rate_interval(hits, n)) if n else Fact(NAN)


def sign_difference(more: int, less: int, n: int) -> Fact:
    """Share of n paired cases with more minus the share with less; the interval is that of the exact sign test.

    Ties decide nothing. Where every case is tied, the limits are those of a share of which none was counted.

    Examples
    --------
    >>> f"{sign_difference(9, 1, 20):+.2f}, {sign_difference(0, 0, 20):+.2f}"
    '+0.40 [+0.05, +0.50], +0.00 [-0.17, +0.17]'
    """
    decided = more + less
    if not decided:
        high = rate(0, n).high
        return Fact(0.0, -high, high)
    sign = rate(more, decided)
    low, high = ((2 * limit - 1) * decided / n for limit in sign.limits)
    return Fact((more - less) / n, low, high)


def rank_correlation(rho: float, n: float, given: int = 0) -> Fact:
    """Spearman's correlation over n cases with Fisher's interval (error 1.03 / root of n - 3; Fieller et al. 1957).

    Examples
    --------
    >>> f"{rank_correlation(0.5, 28):.2f}"
    '0.50 [0.14, 0.74]'
    """
    if not n - given > 3 or isnan(rho):
        return Fact(rho)
    z = np.arctanh(np.clip(rho, -0.999999, 0.999999))
    half = 1.96 * np.sqrt(1.06 / (n - given - 3))
    return Fact(float(rho), float(np.tanh(z - half)), float(np.tanh(z + half)))


def mean_correlation(rhos: ArrayLike, n: float, given: int = 0) -> Fact:
    """Mean of correlations over the same n cases, by Fisher's transformation; the interval is that of one of them."""
    values = np.asarray(rhos, dtype=np.float64)
    return rank_correlation(float(np.tanh(np.arctanh(np.clip(values, -0.999999, 0.999999)).mean())), n, given)


def as_table(facts: Facts) -> pd.DataFrame:
    """Return one line per fact."""
    import pandas as pd

    lines = [(name, one.value, one.low, one.high, one.words) for name, one in facts.items()]
    return pd.DataFrame(lines, columns=["fact", *_COLUMNS])


def from_table(table: pd.DataFrame) -> dict[str, Fact]:
    """Return the facts of a table by name."""
    *numbers, words = _COLUMNS
    text = table[words].fillna("") if words in table else [""] * len(table)
    return {
        str(name): Fact(float(value), float(low), float(high), words=str(words))
        for name, value, low, high, words in zip(table.fact, *(table[one] for one in numbers), text, strict=True)
    }
