"""How coherently one group of rows, or each of many, shifts, compared with chance."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shesha.report import Column, Drawing, Page, Section, Strip, Table, Text, page_width, wrap
from shesha.results.base import Result, reaches_level
from shesha.results.generic_page import as_table, field_explanations, run_details
from shesha.results.null_summary import NAN, NullComparison
from shesha.support.draw_counts import draws_needed
from shesha.support.wording import agree_with_share, count, join_items

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True, kw_only=True)
class Coherence(NullComparison):
    """The coherence of a group of rows, compared with equally large groups that have no effect."""

    name: str
    n: int
    """Number of rows in the group."""
    coherence: float
    """Mean cosine between the shift of a row and the mean shift of the group. The fields null_mean to p_value, ci_low
    and ci_high refer to this value."""
    ci_low: float = NAN
    ci_high: float = NAN
    unbiased: float = NAN
    """Mean cosine between two shifts of the group, from different units if rows were sampled in units. It is 0 on
    average without an effect, whatever the group's size. The verdict refers to this value."""
    unbiased_ci_low: float = NAN
    unbiased_ci_high: float = NAN
    unbiased_chance: float = NAN
    unbiased_p: float = NAN
    magnitude: float = NAN
    """Length of the mean shift."""
    unbiased_magnitude: float = NAN
    """Square root of the squared magnitude after subtracting what noise contributes, with the sign of that difference;
    negative if noise alone would be larger."""
    magnitude_chance: float = NAN
    magnitude_p: float = NAN
    """p-value of the magnitude divided by its noise. A group that is merely noisier than the controls is not
    significant."""
    spread: float = NAN
    """Mean distance of the rows from the mean of the group."""
    snr: float = NAN
    """Magnitude divided by the spread."""
    n_controls: int = 0
    n_draws: int = 0
    p_adjusted: float = NAN
    """p-value of the unbiased coherence, corrected for the number of groups in the table (Benjamini and Hochberg)."""
    alpha: float = 0.05
    confidence: float = 0.95
    reason: str = ""
    """Why there is no chance level; empty if there is one."""

    @property
    def significant(self) -> bool:
        """Return whether the rows move together more than those of null groups do, at the level alpha."""
        return reaches_level(self.unbiased_p, self.alpha)

    @property
    def smallest_p(self) -> float:
        """The smallest p-value that is possible with the draws, which may be all choices of units; NaN without any."""
        return 1 / (self.n_draws + 1) if self.n_draws else NAN

    @property
    def verdict(self) -> str:
        """The verdict in words, based on the p-value of the unbiased coherence (corrected in a table)."""
        if self.unbiased_p != self.unbiased_p:
            return "not tested"
        p = self.p_adjusted if self.p_adjusted == self.p_adjusted else self.unbiased_p
        if reaches_level(p, self.alpha):
            return TOGETHER
        # No result could be significant, or this one has the smallest possible p, but the correction needs a smaller
        # one.
        # With equally many units on both sides, exchanging the sides is one of the choices and scores about as high, so
        # the p of a clear effect is either the smallest or twice that.
        doubled = self.smallest_p if reaches_level(2 * self.smallest_p, self.alpha) else 2 * self.smallest_p
        is_at_limit = self.unbiased_p <= doubled * (1 + 1e-9)
        return UNDECIDED if is_at_limit or not reaches_level(self.smallest_p, self.alpha) else "not above chance"

    def _text(self) -> str:
        """Return a text with the unbiased score and its p-value, then the other scores."""
        p_value, chance = f"no chance level ({self.reason})", ""
        if self.has_null:
            p_value = f"p = {self.unbiased_p:.3g} ({count(self.n_draws, 'draw')})"
            chance = f" (chance {self.null_mean:.3f})"
        ends = ""
        if self.unbiased_ci_low == self.unbiased_ci_low:
            ends = f" [{self.unbiased_ci_low:.3f}, {self.unbiased_ci_high:.3f}]"
        return (
            f"{self.name}: unbiased coherence {self.unbiased:.3f}{ends} for {self.n:,} rows against "
            f"{self.n_controls:,} controls, {p_value}; coherence {self.coherence:.3f}{chance}, magnitude "
            f"{self.magnitude:.3g}"
        )


@dataclass(frozen=True, kw_only=True)
class Link(Result):
    """How two columns of a table of groups correlate, compared with null groups of the same sizes."""

    first: str
    second: str
    rho: float
    """Spearman's correlation between the columns, over the groups."""
    chance: float
    """Mean correlation over tables of null groups, which reflects only group sizes and noise."""
    chance_low: float
    chance_high: float
    """Limits of the interval that contains the central 95 % of the tables of null groups."""
    p_value: float
    """p-value: share of the tables of null groups whose correlation is at least as large."""

    def _text(self) -> str:
        """Return a text with the observed correlation and the one expected by chance."""
        return (
            f"{self.first} and {self.second}: rho = {self.rho:.2f}; null groups give {self.chance:.2f} "
            f"[{self.chance_low:.2f}, {self.chance_high:.2f}], p = {self.p_value:.2g}"
        )


@dataclass(frozen=True, kw_only=True)
class CoherenceTable(Result):
    """How coherent each group in a table of rows is."""

    groups: tuple[Coherence, ...]
    excluded: dict[str, str]
    """Groups that were not scored, each with the reason."""
    control: str
    n_controls: int
    method: str
    shrinkage: float | None = None
    """Degree to which the covariance of the controls was shrunk, if rows were whitened."""
    k: int | None = None
    """Number of nearest controls with which each row was compared, if rows were matched."""
    null: str = "controls"
    exchanged: str = "controls"
    n_draws: int = 0
    n_shuffled: int = 0
    """Number of large groups whose null shuffles labels, because null groups of their size would leave too few
    controls."""
    group_noun: str = "group"
    row_noun: str = "row"
    links: tuple[Link, ...] = ()
    notes: tuple[str, ...] = ()
    undeclared: tuple[str, ...] = ()
    """Options such as groups='donor' that name a column of sampling units or batches but were not passed."""
    seed: int | None = None
    cosines: NDArray[np.float64] | None = field(default=None, repr=False, compare=False)
    """Cosine between the shift of each row and the mean shift of its group; NaN for controls and unused rows."""

    def __iter__(self) -> Iterator[Coherence]:
        """Iterate over the groups."""
        return iter(self.groups)

    def __getitem__(self, name: str) -> Coherence:
        """Return the result of the group with this name."""
        for group in self.groups:
            if group.name == name:
                return group
        raise KeyError(f"name must be one of {', '.join(group.name for group in self.groups)}, got {name!r}")

    @property
    def headline(self) -> str:
        """How many groups shift in a common direction above chance, and which groups these are."""
        tested = [group for group in self.groups if group.has_null]
        if not tested:
            return f"No chance level was computed for {count(len(self.groups), self.group_noun)}."
        above = self.named(TOGETHER)
        listed = f": {_list_names(above)}" if above else ""
        doubt = f" {self.undecided_note}" if self.undecided_note else ""
        moves = agree_with_share(len(above), len(tested), "shifts its", "shift their")
        if above and self.undeclared:
            doubt += f" Not declared: {join_items(self.undeclared)}; if its values differ, p-values are too small."
        return (
            f"{len(above)} of {count(len(tested), self.group_noun)} {moves} {self.row_noun}s in a common direction, "
            f"above chance (p_adj <= {tested[0].alpha:g}){listed}.{doubt}"
        )

    @property
    def undecided_note(self) -> str:
        """Which groups cannot be decided with so few units or draws, and why; empty if there are none."""
        groups = self.named(UNDECIDED)
        if not groups:
            return ""
        smallest = sorted({group.smallest_p for group in groups})
        limits = " to ".join(f"{p:.2g}" for p in dict.fromkeys((smallest[0], smallest[-1])))
        limits += " (twice that if two choices tie)" * all(
            group.unbiased_p > group.smallest_p * (1 + 1e-9) and reaches_level(group.smallest_p, group.alpha)
            for group in groups
        )
        needed = draws_needed(sum(group.has_null for group in self.groups), groups[0].alpha)
        few = max(group.n_draws for group in groups)
        by_choice = few < self.n_draws
        drawn = f"{few:,} {'choices of units' if by_choice else 'null groups'}"
        remedy = "more units (values of groups)" if by_choice else f"at least {needed:,} null groups (n_draws)"
        return (
            f"Cannot be decided: {_list_names(groups)}, because with {drawn} p cannot fall below {limits}; this needs "
            f"{remedy}."
        )

    def _page(self) -> Page:
        pass

        return coherence_page(self)

    def named(self, verdict: str) -> list[Coherence]:
        """Return the groups with this verdict, the most coherent first."""
        return sorted((group for group in self.groups if group.verdict == verdict), key=lambda group: -group.unbiased)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that can be written as JSON; the cosines of single rows are left out."""
        return {name: value for name, value in super().to_dict().items() if name != "cosines"}

    def to_frame(self) -> pd.DataFrame:
        """Return a table with one row per group, the most coherent relative to chance first.

        The settings are in its `attrs`.
        """
        import pandas as pd

        lines = [{column: getattr(group, name) for column, name in _COLUMNS.items()} for group in self.groups]
        frame = pd.DataFrame(lines, columns=list(_COLUMNS)).set_index("group")
        order = np.argsort(-frame["unbiased"].to_numpy(), kind="stable")
        frame = frame.iloc[order]
        frame.attrs = {name: value for name, value in self.to_dict().items() if name not in ("groups", "links")}
        return frame

    def plot(self, ax: Axes | None = None, *, unbiased: bool = False) -> Axes:
        """Draw magnitude against coherence for each group and for null groups.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on. Default: a new figure.
        unbiased : bool
            Whether to draw the unbiased magnitude and coherence, which do not depend on the size of a group.

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

    def _text(self) -> str:
        """Return a text with the table, most coherent group first, and possible problems."""
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
"""Most groups that the headline names."""
TOGETHER, UNDECIDED = "moves together", "undecided"
"""Verdicts on groups that the headline names."""
_PRINTED = {
    **{"n": 0, "unbiased": 3, "unbiased_ci_low": 3, "unbiased_ci_high": 3, "p_adj": 4, "verdict": 0},
    "magnitude": 2,
}
"""Columns of the printed table, each with its number of decimals."""
_COLUMNS = {
    "group": "name",
    "n": "n",
    "unbiased": "unbiased",
    "unbiased_ci_low": "unbiased_ci_low",
    "unbiased_ci_high": "unbiased_ci_high",
    "p_adj": "p_adjusted",
    "verdict": "verdict",
    "unbiased_p": "unbiased_p",
    "coherence": "coherence",
    "ci_low": "ci_low",
    "ci_high": "ci_high",
    "chance": "null_mean",
    "threshold": "threshold",
    "p": "p_value",
    "calibrated": "score",
    "unbiased_chance": "unbiased_chance",
    "magnitude": "magnitude",
    "unbiased_magnitude": "unbiased_magnitude",
    "magnitude_chance": "magnitude_chance",
    "spread": "spread",
    "snr": "snr",
}
"""Columns of the table, each with the field that it shows."""


def _list_names(groups: list[Coherence]) -> str:
    more = f" and {len(groups) - _NAMED} more" if len(groups) > _NAMED else ""
    return ", ".join(group.name for group in groups[:_NAMED]) + more


def _decimals(digits: int) -> Callable[[float], str]:
    return lambda value: f"{value:.{digits}f}"


_MOST = 200
"""Most groups on a page; `to_frame` returns all groups."""
_PICTURE = (
    "Unbiased coherence and magnitude of each group, without the contribution of noise. The chance level is that of "
    "groups of the same size."
)
_UNBIASED = Text(
    "Unbiased coherence is the mean cosine of pairs of shifts. It is 0 without an effect, for any group size. "
    "Brackets show its interval."
)


def coherence_page(result: CoherenceTable) -> Page:
    """Return the page for a table of groups."""
    groups = sorted(result.groups, key=lambda group: -group.unbiased)[:_MOST]
    frame = result.to_frame()
    noun, rows = result.group_noun, f"{result.n_controls:,} controls ({result.control})"
    return Page(
        title=f"Coherence of {len(result.groups)} {noun}s",
        question=f"Which {noun}s shift their {result.row_noun}s in a common direction, above chance?",
        answer=(result.headline,),
        numbers=(_group_table(groups, noun), _UNBIASED),
        doubts=tuple(Text(text) for text in (*result.notes, *_not_scored(result))),
        sections=(
            Section("Coherence and magnitude", (Drawing(_PICTURE, partial(result.plot, unbiased=True)),)),
            *(
                (Section("Correlations over groups", tuple(Text(str(link)) for link in result.links)),)
                if result.links
                else ()
            ),
            Section("Every number", (as_table(frame.head(_MOST), "All numbers"), *field_explanations(Coherence))),
        ),
        ran=(("data", f"{len(result.groups)} {noun}s against {rows}, {result.method}"), *run_details(result)),
    )


def _group_table(groups: Sequence[Coherence], noun: str) -> Table:
    columns = (
        Column("verdict", tuple(group.verdict for group in groups), "<"),
        Column(
            "unbiased",
            tuple(
                f"{group.unbiased:.3f} [{group.unbiased_ci_low:.3f}, {group.unbiased_ci_high:.3f}]"
                if group.unbiased_ci_low == group.unbiased_ci_low
                else f"{group.unbiased:.3f}"
                for group in groups
            ),
            ">",
            tuple(Strip(group.unbiased, group.unbiased_ci_low, group.unbiased_ci_high) for group in groups),
        ),
        Column(
            "corrected p",
            tuple("" if group.p_adjusted != group.p_adjusted else f"{group.p_adjusted:.2g}" for group in groups),
        ),
        Column("n", tuple(f"{group.n:,}" for group in groups)),
    )
    return Table(tuple(group.name for group in groups), (columns,), "Most coherent first", noun)


def _not_scored(result: CoherenceTable) -> list[str]:
    return [f"not scored: {name} ({why})" for name, why in list(result.excluded.items())[:5]]
