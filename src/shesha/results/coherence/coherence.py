"""Coherence of shifts with its chance level, for one group or many."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shesha.report import Page, page_width, wrap
from shesha.results.base import Result, reaches_level
from shesha.results.null_summary import NAN, NullComparison
from shesha.support.plurals import agree, count

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True, kw_only=True)
class Coherence(NullComparison):
    """Coherence of a group of rows, with the null of equally large groups without an effect."""

    name: str
    n: int
    """Number of rows of the group."""
    coherence: float
    """Mean cosine between the shift of a row and the mean shift. The null, the p-value and the interval refer to this
    value."""
    ci_low: float = NAN
    ci_high: float = NAN
    unbiased: float = NAN
    """Mean cosine of pairs of shifts: 0 without an effect, for any group size."""
    unbiased_ci_low: float = NAN
    unbiased_ci_high: float = NAN
    unbiased_chance: float = NAN
    unbiased_p: float = NAN
    magnitude: float = NAN
    """Length of the mean shift."""
    unbiased_magnitude: float = NAN
    """Signed square root of the squared magnitude minus the contribution of noise; negative if noise alone is
    larger."""
    magnitude_chance: float = NAN
    magnitude_p: float = NAN
    """p-value of the magnitude divided by its noise. A group that is only noisier than the controls is not
    significant."""
    spread: float = NAN
    """Mean distance of the rows from their mean."""
    snr: float = NAN
    """Magnitude divided by spread."""
    n_controls: int = 0
    n_draws: int = 0
    p_adjusted: float = NAN
    """p-value corrected for the number of groups in the table (Benjamini and Hochberg)."""
    alpha: float = 0.05
    confidence: float = 0.95
    reason: str = ""
    """Reason for a missing chance level."""

    @property
    def significant(self) -> bool:
        """Return whether the rows move together more than those of null groups, at the level alpha."""
        return reaches_level(self.p_value, self.alpha)

    @property
    def verdict(self) -> str:
        """Verdict in words, from p (corrected in a table) and the interval of the unbiased score."""
        if not self.has_null:
            return "not tested"
        p = self.p_adjusted if self.p_adjusted == self.p_adjusted else self.p_value
        if not reaches_level(p, self.alpha):
            return "not above chance"
        # The null resamples controls, and the interval resamples rows or units of this group, so they may disagree.
        return _UNSURE if self.unbiased_ci_low <= 0 else _TOGETHER

    def __str__(self) -> str:
        """Print the score with its chance level, and the unbiased score."""
        chance = f"no chance level ({self.reason})"
        if self.has_null:
            chance = f"chance {self.null_mean:.3f}, p = {self.p_value:.3g} ({count(self.n_draws, 'draw')})"
        return (
            f"{self.name}: coherence {self.coherence:.3f} [{self.ci_low:.3f}, {self.ci_high:.3f}] for {self.n:,} rows "
            f"against {self.n_controls:,} controls, {chance}; unbiased {self.unbiased:.3f}, magnitude "
            f"{self.magnitude:.3g}"
        )


@dataclass(frozen=True, kw_only=True)
class Link(Result):
    """Correlation of two columns of a table over groups, compared with null groups of the same sizes."""

    first: str
    second: str
    rho: float
    """Spearman's correlation over the groups."""
    chance: float
    """Mean correlation over tables of null groups: the effect of group sizes and noise alone."""
    chance_low: float
    chance_high: float
    """Limits of the central 95 % of the tables of null groups."""
    p_value: float
    """p-value: share of tables of null groups with a correlation at least as large."""

    def __str__(self) -> str:
        """Print both correlations."""
        return (
            f"{self.first} and {self.second}: rho = {self.rho:.2f}; null groups give {self.chance:.2f} "
            f"[{self.chance_low:.2f}, {self.chance_high:.2f}], p = {self.p_value:.2g}"
        )


@dataclass(frozen=True, kw_only=True)
class CoherenceTable(Result):
    """Coherence of every group of a table of rows."""

    groups: tuple[Coherence, ...]
    excluded: dict[str, str]
    """Groups that were not scored, with the reason."""
    control: str
    n_controls: int
    method: str
    shrinkage: float | None = None
    """Shrinkage of the covariance of the controls, if rows were whitened."""
    k: int | None = None
    """Number of nearest controls of a row, if rows were matched."""
    null: str = "controls"
    exchanged: str = "controls"
    n_draws: int = 0
    n_shuffled: int = 0
    """Number of large groups whose null shuffles labels, because a null group would leave too few controls."""
    group_noun: str = "group"
    row_noun: str = "row"
    links: tuple[Link, ...] = ()
    notes: tuple[str, ...] = ()
    seed: int | None = None
    cosines: NDArray[np.float64] | None = field(default=None, repr=False, compare=False)
    """Cosine of each row with the mean shift of its group; NaN for controls and unused rows."""

    def __iter__(self) -> Iterator[Coherence]:
        """Iterate over the groups."""
        return iter(self.groups)

    def __getitem__(self, name: str) -> Coherence:
        """Return the result of one group."""
        for group in self.groups:
            if group.name == name:
                return group
        raise KeyError(f"name must be one of {', '.join(group.name for group in self.groups)}, got {name!r}")

    @property
    def headline(self) -> str:
        """How many groups shift in a common direction above chance, and which."""
        tested = [group for group in self.groups if group.has_null]
        if not tested:
            return f"No chance level was computed for {count(len(self.groups), self.group_noun)}."
        above, unsure = self.named(_TOGETHER), self.named(_UNSURE)
        listed = f": {_list_names(above)}" if above else ""
        doubt = f" Doubtful, because the interval contains 0: {_list_names(unsure)}." if unsure else ""
        moves = agree(len(above), "shifts its", "shift their")
        return (
            f"{len(above)} of {count(len(tested), self.group_noun)} {moves} {self.row_noun}s in a common direction, "
            f"above chance (p_adj <= {tested[0].alpha:g}){listed}.{doubt}"
        )

    def _page(self) -> Page:
        from shesha.results.coherence.coherence_page import coherence_page

        return coherence_page(self)

    def named(self, verdict: str) -> list[Coherence]:
        """Return the groups with a verdict, the most coherent first."""
        return sorted((group for group in self.groups if group.verdict == verdict), key=lambda group: -group.unbiased)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON, without the cosines of the rows."""
        return {name: value for name, value in super().to_dict().items() if name != "cosines"}

    def to_frame(self) -> pd.DataFrame:
        """Return one line per group, the most coherent relative to chance first; `attrs` has the settings."""
        import pandas as pd

        lines = [{column: getattr(group, name) for column, name in _COLUMNS.items()} for group in self.groups]
        frame = pd.DataFrame(lines, columns=list(_COLUMNS)).set_index("group")
        order = np.argsort(-frame["unbiased"].to_numpy(), kind="stable")
        frame = frame.iloc[order]
        frame.attrs = {name: value for name, value in self.to_dict().items() if name not in ("groups", "links")}
        return frame

    def plot(self, ax: Axes | None = None, *, unbiased: bool = False) -> Axes:
        """Draw magnitude against coherence, with null groups.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; default: a new figure.
        unbiased : bool
            Whether to draw the unbiased magnitude and coherence, which do not depend on group size.

        Returns
        -------
        matplotlib Axes
        """
        from shesha.charts import against_chance

        names = ("unbiased_magnitude", "unbiased", "unbiased_chance") if unbiased else _PLAIN
        columns = {name: [getattr(group, name) for group in self.groups] for name in (*names, "magnitude_chance")}
        chance = ([0.0] * len(self.groups) if unbiased else columns["magnitude_chance"], columns[names[2]])
        ax = against_chance(
            (columns[names[0]], columns[names[1]]), chance, [group.name for group in self.groups], ax=ax
        )
        ax.set_xlabel("magnitude" + (", less noise" if unbiased else ""))
        ax.set_ylabel("unbiased coherence" if unbiased else "coherence")
        return ax

    def __str__(self) -> str:
        """Print the table, most coherent first, and possible problems."""
        frame = self.to_frame()[list(_PRINTED)].rename(columns={"unbiased_ci_low": "low", "unbiased_ci_high": "high"})
        frame.index.name = None
        lines = [
            *wrap(self.headline, page_width(), hanging=""),
            "",
            f"coherence of {count(len(self.groups), self.group_noun)} against {self.n_controls:,} controls "
            f"({self.control}), {self.method}",
        ]
        formats = {name: _decimals(digits) for name, digits in zip(frame.columns, _PRINTED.values(), strict=True)}
        del formats["verdict"]
        formats["n"] = lambda value: f"{int(value):,}"
        formats["p_adj"] = lambda value: "-" if value != value else f"{value:.2g}"
        lines += frame.to_string(formatters=formats, max_rows=40, na_rep="-").splitlines()
        lines.append("")
        lines += [line for link in self.links for line in wrap(str(link), page_width())]
        if self.excluded:
            named = "; ".join(f"{name} ({why})" for name, why in list(self.excluded.items())[:5])
            more = f" and {len(self.excluded) - 5} more" if len(self.excluded) > 5 else ""
            lines.append(f"not scored: {named}{more}")
        notes = [line for note in self.notes for line in wrap(note, page_width())]
        return "\n".join([*lines, *notes])


_PLAIN = ("magnitude", "coherence", "null_mean")
_NAMED = 10
"""Largest number of groups that the headline names."""
_TOGETHER, _UNSURE = "moves together", "doubtful: interval contains 0"
_PRINTED = {
    **{"n": 0, "unbiased": 3, "unbiased_ci_low": 3, "unbiased_ci_high": 3, "p_adj": 4, "verdict": 0},
    "magnitude": 2,
}
"""Printed columns, with their numbers of decimals."""
_COLUMNS = {
    "group": "name",
    "n": "n",
    "unbiased": "unbiased",
    "unbiased_ci_low": "unbiased_ci_low",
    "unbiased_ci_high": "unbiased_ci_high",
    "p_adj": "p_adjusted",
    "verdict": "verdict",
    "coherence": "coherence",
    "ci_low": "ci_low",
    "ci_high": "ci_high",
    "chance": "null_mean",
    "threshold": "threshold",
    "p": "p_value",
    "calibrated": "score",
    "unbiased_chance": "unbiased_chance",
    "unbiased_p": "unbiased_p",
    "magnitude": "magnitude",
    "unbiased_magnitude": "unbiased_magnitude",
    "magnitude_chance": "magnitude_chance",
    "spread": "spread",
    "snr": "snr",
}
"""Columns of the table, with the fields that they contain."""


def _list_names(groups: list[Coherence]) -> str:
    more = f" and {len(groups) - _NAMED} more" if len(groups) > _NAMED else ""
    return ", ".join(group.name for group in groups[:_NAMED]) + more


def _decimals(digits: int) -> Callable[[float], str]:
    return lambda value: f"{value:.{digits}f}"
