"""Facts: numbers that a study found, with intervals, by which claims are judged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from shesha.support.types import Index, Vector

if TYPE_CHECKING:
    import pandas as pd

NAN = float("nan")


@dataclass(frozen=True)
class Fact:
    """A number with its 95 % interval; the limits are NaN if nothing was sampled.

    If `words` is not empty, these words are printed instead of the number. A format that ends with "|" prints the
    number without its interval.

    Examples
    --------
    >>> f"{Fact(0.323, 0.05, 0.55):+.2f}, {Fact(3.0):.0f}, {Fact(0.0, -1.0, 1.0).transform(np.exp):.2f}"
    '+0.32 [+0.05, +0.55], 3, 1.00 [0.37, 2.72]'
    >>> f"{Fact(0.323, 0.05, 0.55):.2f|}"
    '0.32'
    """

    value: float
    low: float = NAN
    high: float = NAN
    words: str = field(default="", kw_only=True)

    def __format__(self, spec: str) -> str:
        """Format the number and, if there is one, its interval."""
        if self.words:
            return self.words
        bare, spec = spec.endswith("|"), spec.removesuffix("|")
        if spec.endswith(("f", "%")):
            # Print a negative number that rounds to zero without its sign.
            spec = f"{spec[0]}z{spec[1:]}" if spec.startswith("+") else f"z{spec}"
        text = format(self.value, spec)
        if bare or isnan(self.low):
            return text
        return f"{text} [{self.low:{spec}}, {self.high:{spec}}]"

    @property
    def limits(self) -> tuple[float, float]:
        """The limits of the interval; without an interval, both limits are the number itself."""
        return (self.value, self.value) if isnan(self.low) else (self.low, self.high)

    def transform(self, increasing: Callable[[float], float]) -> Fact:
        """Apply an increasing function to the number and its limits."""
        return Fact(*(float(increasing(end)) for end in (self.value, self.low, self.high)))


Facts = Mapping[str, Fact]
MakeFacts = Callable[["pd.DataFrame", Any], Mapping[str, Any]]
"""Function from all rows and the published numbers (a DataFrame or None) to facts, plain numbers or words, by name."""


def as_facts(values: Mapping[str, Any], prefix: str = "") -> dict[str, Fact]:
    """Convert numbers and words to facts without intervals, with a common prefix in their names.

    Examples
    --------
    >>> found = as_facts({"rho": 0.5, "best": "CKA"}, "drift ")
    >>> f"{found['drift rho']:.2f}, {found['drift best']}"
    '0.50, CKA'
    """
    return {prefix + str(name): _as_fact(value) for name, value in values.items()}


def _as_fact(value: Any) -> Fact:
    if isinstance(value, Fact):
        return value
    return Fact(0.0, words=value or "none") if isinstance(value, str) else Fact(float(value))


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


def resampled(statistic: Callable[[Index], float], units: int | Sequence[Index], draws: int = 500) -> Fact:
    """Statistic of rows, with a percentile interval from whole units drawn with replacement.

    Parameters
    ----------
    statistic : callable
        Function that takes row positions and returns the statistic for these rows.
    units : int or sequence of array of int
        Number of rows if each row is a unit; otherwise, the row positions in each unit. A single unit gives no
        interval.
    draws : int
        Number of bootstrap draws.

    Examples
    --------
    >>> values = np.array([1.0, 2.0, 3.0, 4.0])
    >>> f"{resampled(lambda rows: float(values[rows].mean()), 4):.1f}"
    '2.5 [1.5, 3.5]'
    """
    rng = np.random.default_rng(0)
    units = [np.array([place]) for place in range(units)] if isinstance(units, int) else units
    if len(units) == 0:
        return Fact(NAN)
    value = float(statistic(np.sort(np.concatenate(units))))
    if len(units) < 2:
        return Fact(value)
    estimates = [
        statistic(np.concatenate([units[place] for place in rng.integers(len(units), size=len(units))]))
        for _ in range(draws)
    ]
    low, high = np.nanpercentile(estimates, [2.5, 97.5])
    return Fact(value, float(low), float(high))


def resampled_groups(
    statistic: Callable[[pd.DataFrame], float], rows: pd.DataFrame, by: str | Sequence[str], draws: int = 500
) -> Fact:
    """Statistic of rows, with an interval from whole groups of rows drawn with replacement."""
    groups = rows.groupby(by if isinstance(by, str) else list(by)).indices.values()
    return resampled(lambda places: statistic(rows.iloc[places]), [np.asarray(group) for group in groups], draws)


def difference(first: ArrayLike, second: ArrayLike) -> Fact:
    """Difference between the means of two independent samples, with Welch's interval.

    Examples
    --------
    >>> f"{difference([3.0, 4.0, 5.0], [1.0, 2.0, 3.0]):.1f}"
    '2.0 [-0.3, 4.3]'
    """
    from scipy.stats import ttest_ind

    a, b = (np.asarray(sample, dtype=np.float64) for sample in (first, second))
    value = float(a.mean() - b.mean()) if len(a) and len(b) else NAN
    if min(len(a), len(b)) < 2:
        return Fact(value)
    if np.ptp(a) == 0 and np.ptp(b) == 0:
        return Fact(value, value, value)
    interval = ttest_ind(a, b, equal_var=False).confidence_interval()
    return Fact(value, float(interval.low), float(interval.high))


def group_means(rows: pd.DataFrame, by: Sequence[str], column: str) -> list[Fact]:
    """Mean of a column in each group of rows, with Student's interval.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = pd.DataFrame({"d": [1, 1, 2, 2], "score": [0.1, 0.3, 0.5, 0.5]})
    >>> ", ".join(f"{one:.1f}" for one in group_means(rows, ["d"], "score"))
    '0.2 [-1.1, 1.5], 0.5 [0.5, 0.5]'
    """
    return [over_draws(group[column]) for _, group in rows.groupby(list(by), sort=False)]


def steps(rows: pd.DataFrame, axis: str, column: str, unit: Sequence[str] = ("seed",)) -> list[Fact]:
    """Mean differences in a column between neighbouring values of an axis, paired within units.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = pd.DataFrame({"d": [1, 1, 2, 2], "seed": [0, 1, 0, 1], "score": [0.1, 0.3, 0.5, 0.7]})
    >>> ", ".join(f"{one:.1f}" for one in steps(rows, "d", "score"))
    '0.4 [0.4, 0.4]'
    """
    wide = rows.pivot_table(index=list(unit), columns=axis, values=column).diff(axis=1)
    return [over_draws(wide[name]) for name in wide.columns[1:]]


def largest(facts: Iterable[Fact]) -> Fact:
    """Return the largest number, with the largest lower limit and the largest upper limit.

    Examples
    --------
    >>> f"{largest([Fact(0.2, 0.1, 0.3), Fact(0.1, -0.2, 0.4)]):.1f}"
    '0.2 [0.1, 0.4]'
    """
    return _extreme(facts, max)


def smallest(facts: Iterable[Fact]) -> Fact:
    """Return the smallest number, with the smallest lower limit and the smallest upper limit.

    Examples
    --------
    >>> f"{smallest([Fact(0.2, 0.1, 0.3), Fact(0.1, -0.2, 0.4)]):.1f}"
    '0.1 [-0.2, 0.3]'
    """
    return _extreme(facts, min)


def absolute(one: Fact) -> Fact:
    """Return the absolute value of a number, with limits for the absolute values in its interval.

    Examples
    --------
    >>> f"{absolute(Fact(-0.2, -0.3, 0.1)):.1f}"
    '0.2 [0.0, 0.3]'
    """
    low, high = sorted(map(abs, (one.low, one.high)))
    return Fact(abs(one.value), 0.0 if one.low < 0 < one.high else low, high)


def _extreme(facts: Iterable[Fact], which: Callable[[Iterable[float]], float]) -> Fact:
    some = list(facts) or [Fact(NAN)]
    ends = zip(*(fact.limits for fact in some), strict=True)
    low, high = (which(end) for end in ends)
    known = any(not isnan(fact.low) for fact in some)
    return Fact(which(fact.value for fact in some), low if known else NAN, high if known else NAN)


def over_correlations(rhos: ArrayLike) -> Fact:
    """Mean correlation over independent sets, with Student's interval on Fisher's scale.

    Examples
    --------
    >>> f"{over_correlations([0.5, 0.7, 0.9]):.2f}"
    '0.75 [-0.20, 0.97]'
    """
    return over_draws(np.arctanh(np.clip(np.asarray(rhos, dtype=np.float64), -0.999999, 0.999999))).transform(np.tanh)


def rate(hits: int, n: int) -> Fact:
    """Share of hits among n cases, with the interval of Clopper and Pearson.

    Examples
    --------
    >>> f"{rate(5, 100):.3f}"
    '0.050 [0.016, 0.113]'
    """
    from shesha_studies.framework.rates import rate_interval

    return Fact(hits / n, *rate_interval(hits, n)) if n else Fact(NAN)


def share(hits: ArrayLike) -> Fact:
    """Share of cases for which a condition is true, with the same interval."""
    flags = np.asarray(hits, dtype=bool)
    return rate(int(flags.sum()), len(flags))


def rank_correlation(rho: float, n: float, given: int = 0) -> Fact:
    """Spearman's correlation over n cases, with Fisher's interval on the scale of arctanh.

    The standard error on this scale is the root of 1.06 / (n - 3) (Fieller et al. 1957).

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


def rank_correlations(rows: pd.DataFrame, first: str, second: str) -> Vector:
    """Spearman's correlation between two columns, within each draw."""
    from scipy.stats import spearmanr

    rhos = [spearmanr(group[first], group[second]).statistic for _, group in rows.groupby("seed")]
    return np.array(rhos, dtype=np.float64)


def mean_correlation(rhos: ArrayLike, n: float, given: int = 0) -> Fact:
    """Mean of correlations over the same n cases (Fisher's scale), with the interval of a single one."""
    values = np.asarray(rhos, dtype=np.float64)
    return rank_correlation(float(np.tanh(np.arctanh(np.clip(values, -0.999999, 0.999999)).mean())), n, given)
