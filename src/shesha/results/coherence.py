"""Groups of rows that shift in a common direction, and E-distances between groups."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from math import isnan
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shesha.report import Columns, Drawing, Item, Page, Part, Section, Strip, Table, Text, texts
from shesha.results import sentence_parts as say
from shesha.results.base import Listed, Result, draws_axes, reaches_level
from shesha.results.correlation import Correlation
from shesha.results.generic_page import as_table, field_explanations, run_details
from shesha.results.number import NAN, Number, format_value, frame_of_numbers, table_of_numbers
from shesha.support.seeds import ALPHA, draws_needed, undecided
from shesha.support.wording import agree_with_share, count, join_items

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True, kw_only=True)
class Coherence(Number):
    """The coherence of a group of rows, compared with equally large groups that have no effect.

    `value` is the unbiased coherence: the mean cosine between two shifts of the group, from different units if rows
    were sampled in units. Without an effect it is 0 on average, whatever the size of the group. In a table, its
    corrected p-value accounts for the number of groups (Benjamini and Hochberg).
    """

    coherence: float
    """Mean cosine between the shift of a row and the mean shift of the group, as published. Small groups have larger
    values."""
    coherence_chance: float = NAN
    """Mean of `coherence` over the null groups."""
    coherence_p_value: float = NAN
    """p-value of `coherence`; the verdict is that of the unbiased coherence."""
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

    @property
    def smallest_p(self) -> float:
        """The smallest p-value that is possible with the draws, which may be all choices of units; NaN without any."""
        return 1 / (self.n_draws + 1) if self.n_draws else NAN

    @property
    def verdict(self) -> str:
        """The verdict in words, based on the p-value of the unbiased coherence (corrected in a table)."""
        if not self.has_null:
            return "not tested"
        if self.significant:
            return TOGETHER
        # With equally many units on both sides, exchanging the sides is one of the choices and scores about as high, so
        # the p of a clear effect is either the smallest or twice that.
        doubled = self.smallest_p if reaches_level(2 * self.smallest_p, self.alpha) else 2 * self.smallest_p
        return UNDECIDED if _is_undecided(self, doubled) else "not above chance"

    @property
    def _what(self) -> str:
        return f"{self.name}: unbiased coherence"

    def _further_lines(self) -> Iterator[str]:
        """Yield the calibration or why it is missing, the rows, and the other scores."""
        yield from super()._further_lines()
        if not self.has_null:
            yield f"no chance level ({self.reason})"
        chance = "" if isnan(self.coherence_chance) else f" (chance {self.coherence_chance:.3f})"
        yield (
            f"{self.n_rows:,} rows against {self.n_controls:,} controls; coherence {self.coherence:.3f}{chance}, "
            f"magnitude {self.magnitude:.3g}"
        )

    def _claim(self) -> str:
        over = f"{self.n_rows:,} rows against {self.n_controls:,} controls"
        drawn = f"{self.n_draws:,} null groups"
        return say.statement(self, f"The unbiased {_SOURCE} of {self.name}", over, drawn=drawn)


_SOURCE = "coherence of shifts (Raju 2026)"


@dataclass(frozen=True, kw_only=True)
class CoherenceTable(Listed[Coherence], Result):
    """How coherent each group in a table of rows is."""

    ITEMS = "groups"

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
    links: tuple[Correlation, ...] = ()
    notes: tuple[str, ...] = ()
    undeclared: tuple[str, ...] = ()
    """Options such as groups='donor' that name a column of sampling units or batches but were not passed."""
    seed: int | None = None
    interrupted: bool = False
    """Whether Ctrl-C ended the draws early."""
    cosines: NDArray[np.float64] | None = field(default=None, repr=False, compare=False)
    """Cosine between the shift of each row and the mean shift of its group; NaN for controls and unused rows."""

    @property
    def headline(self) -> str:
        """How many groups shift in a common direction above chance, and which groups these are."""
        above = self.named(TOGETHER)
        listed = f": {_list_names(above)}" if above else ""
        doubt = f" {self.undecided_note}" if self.undecided_note else ""
        if above and self.undeclared:
            doubt += f" Not declared: {join_items(self.undeclared)}; if its values differ, p-values are too small."
        few = _too_small(self.excluded, [group.n_rows for group in self.groups], self.group_noun, self.row_noun)
        return f"{self._n_above}{listed}.{few}{doubt}"

    @property
    def _n_above(self) -> str:
        """How many groups shift in a common direction above chance."""
        tested, n = [group for group in self.groups if group.has_null], len(self.named(TOGETHER))
        if not tested:
            return f"No chance level was computed for {count(len(self.groups), self.group_noun)}"
        moves = agree_with_share(n, len(tested), "shifts its", "shift their")
        return (
            f"{n} of {count(len(tested), self.group_noun)} {moves} {self.row_noun}s in a common direction, "
            f"above chance (corrected p at most {tested[0].alpha:g})"
        )

    def _claim(self) -> str:
        tested = [group for group in self.groups if group.has_null]
        above = self.named(TOGETHER)
        shown = above or sorted(tested, key=lambda group: (group.corrected_p_value, -group.value))[:1] or self.groups
        n_undecided = len(self.named(UNDECIDED))
        few = f"; {n_undecided} cannot be decided with so few units or null groups" if n_undecided else ""
        n_draws = say.span(group.n_draws for group in tested)
        signs = self.exchanged.startswith("signs")
        null = f"{n_draws} random choices of the {self.exchanged}" if signs else f"{n_draws} null groups"
        null += "" if signs else f" of {self.exchanged}"
        shuffled = f", of permuted labels for {count(self.n_shuffled, f'large {self.group_noun}')}"
        return say.listing(
            f"{self._n_above}{few}",
            [say.clause(group, f"{group.name} ({count(group.n_rows, self.row_noun)})") for group in shown],
            f"unbiased {_SOURCE}, {self.method}, against {self.n_controls:,} controls",
            f"p compared with {null}{shuffled if self.n_shuffled else ''}, corrected by Benjamini and Hochberg"
            if tested
            else "",
            others=f"{self.group_noun}s",
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
            group.p_value > group.smallest_p * (1 + 1e-9) and reaches_level(group.smallest_p, group.alpha)
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
        return coherence_page(self)

    def _every_number(self) -> tuple[Section, ...]:
        table = as_table(self.to_frame(full=True).head(_MOST), "All numbers")
        return (Section("Every number", (table, *field_explanations(Coherence)), printed=False),)

    def named(self, verdict: str) -> list[Coherence]:
        """Return the groups with this verdict, the most coherent first."""
        return sorted((group for group in self.groups if group.verdict == verdict), key=lambda group: -group.value)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that can be written as JSON; the cosines of single rows are left out."""
        return {name: value for name, value in super().to_dict().items() if name != "cosines"}

    def _frame(self, *, full: bool) -> pd.DataFrame:
        """Return a table with one row per group, the most coherent first; the settings are in its `attrs`."""
        ordered = sorted(self.groups, key=lambda group: (group.value != group.value, -group.value))
        frame = frame_of_numbers(ordered, "name", "n_rows", full=full, further=_FURTHER).set_index("name")
        frame.attrs = {name: value for name, value in self.to_dict().items() if name not in ("groups", "links")}
        return frame

    @draws_axes
    def plot(self, ax: Axes | None = None, *, title: str | None = None) -> Axes:
        """Draw magnitude against unbiased coherence for each group, and the chance level of groups of its size."""
        from shesha.charts import against_chance

        magnitudes = [group.unbiased_magnitude for group in self.groups]
        values, chance = [group.value for group in self.groups], [group.chance for group in self.groups]
        names = [group.name for group in self.groups]
        ax = against_chance((magnitudes, values), ([0.0] * len(names), chance), names, ax=ax)
        ax.set(xlabel="magnitude (without noise)", ylabel="unbiased coherence")
        return ax


_NAMED = 10
"""Most groups that the headline names."""
_FURTHER = ("coherence", "coherence_chance", "magnitude", "unbiased_magnitude", "spread", "snr")
"""Columns of the narrow table besides those of every number."""
TOGETHER, UNDECIDED = "moves together", "undecided"
"""Verdicts on groups that the headline names."""


def _list_names(groups: list[Coherence]) -> str:
    more = f" and {len(groups) - _NAMED} more" if len(groups) > _NAMED else ""
    return ", ".join(group.name for group in groups[:_NAMED]) + more


_COMBINED = re.compile(r"[^+|;]+[+|;].+")


def _too_small(excluded: Mapping[str, str], sizes: Sequence[int], noun: str, row_noun: str) -> str:
    """Return how many groups and rows were not scored, if most groups were too small, and why labels may be many."""
    if len(excluded) <= len(sizes):
        return ""
    # Reasons begin with the number of rows.
    n_out = sum(int(why.partition(" ")[0].replace(",", "")) for why in excluded.values())
    combined = [name for name in excluded if _COMBINED.fullmatch(name)]
    text = (
        f" {len(excluded):,} of {count(len(excluded) + len(sizes), noun)} have too few {row_noun}s and were not scored "
        f"({n_out:,} of {count(n_out + sum(sizes), row_noun)})."
    )
    if 2 * len(combined) > len(excluded):
        text += (
            f" Most of these are combinations, such as {combined[0]}; to test one part at a time, label all "
            f"{row_noun}s that contain it."
        )
    return text


_MOST = 200
"""Most groups on a page; `to_frame` returns all groups."""
_PICTURE = (
    "Unbiased coherence and magnitude of each group, without the contribution of noise. The chance level is that of "
    "groups of the same size."
)
_UNBIASED = (
    "Unbiased coherence is the mean cosine of pairs of shifts. It is 0 without an effect, for any group size. "
    "Brackets show its interval."
)


_INTERRUPTED = "Interrupted: fewer null groups than requested, or none for the last groups."


def coherence_page(result: CoherenceTable) -> Page:
    """Return the page for a table of groups."""
    groups = sorted(result.groups, key=lambda group: -group.value)[:_MOST]
    noun = result.group_noun
    against = (
        f"{count(len(result.groups), noun)} against {result.n_controls:,} controls ({result.control}), {result.method}"
    )
    return Page(
        title=f"Coherence of {len(result.groups)} {noun}s",
        question=f"Which {noun}s shift their {result.row_noun}s in a common direction, above chance?",
        answer=(result.headline,),
        numbers=(_group_table(groups, noun), Text(f"{against}. {_UNBIASED}", "")),
        doubts=tuple(
            Item(text) for text in (*[_INTERRUPTED] * result.interrupted, *result.notes, *_not_scored(result))
        ),
        sections=(
            *(
                (
                    Section(
                        "Correlations over groups",
                        tuple(Text("; ".join(map(str.strip, str(link).splitlines()))) for link in result.links),
                    ),
                )
                if result.links
                else ()
            ),
            Section("Coherence and magnitude", (Drawing(_PICTURE, result.plot),)),
        ),
        ran=(("data", against), *run_details(result)),
    )


def _group_table(groups: Sequence[Coherence], noun: str) -> Table:
    columns: Columns = {
        "verdict": [group.verdict for group in groups],
        "unbiased coherence": map(format_value, groups),
        "corrected p": [group.corrected_p_value for group in groups],
        "n": [group.n_rows for group in groups],
        "magnitude": [group.magnitude for group in groups],
    }
    strips = {"unbiased coherence": [Strip(group.value, group.low, group.high) for group in groups]}
    return Table.of([group.name for group in groups], columns, "Most coherent first", noun, strips=strips)


def _not_scored(result: CoherenceTable) -> list[str]:
    return [f"not scored: {name} ({why})" for name, why in list(result.excluded.items())[:5]]


def _is_undecided(number: Number, limit: float) -> bool:
    """Return whether no result could be significant, or this one has a p at the limit, which the correction exceeds."""
    return number.p_value <= limit * (1 + 1e-9) or not reaches_level(1 / (number.n_draws + 1), number.alpha)


@dataclass(frozen=True, kw_only=True)
class EDistance(Number):
    """The E-distance between two groups of rows.

    `value` is its unbiased form, without the distance of each row from itself; it is 0 on average if the groups do not
    differ. Its p-value is the share of random divisions of the rows (or units) with a value that is at least as large,
    corrected for the number of pairs (Benjamini and Hochberg).
    """

    first: str
    second: str
    n_first: int
    n_second: int
    e_distance: float
    """Twice the mean squared distance between rows of both groups, minus the mean squared distances within each."""

    @property
    def verdict(self) -> str:
        """The verdict in words; 'undecided' if the units or draws are too few for a smaller p."""
        plain = super().verdict
        limit = 1 / (self.n_draws + 1)
        return UNDECIDED if plain == "not above chance" and _is_undecided(self, limit) else plain


@dataclass(frozen=True, kw_only=True)
class EDistances(Listed[EDistance], Result):
    """E-distances between pairs of groups."""

    ITEMS = "pairs"

    pairs: tuple[EDistance, ...]
    excluded: dict[str, str]
    """Groups that were not compared, each with the reason."""
    n_draws: int
    alpha: float = ALPHA
    seed: int | None = None
    notes: tuple[str, ...] = ()

    @property
    def significant(self) -> tuple[EDistance, ...]:
        """The pairs that differ at the level alpha, after the correction, the most distant first."""
        found = [pair for pair in self.pairs if reaches_level(pair.corrected_p_value, self.alpha)]
        return tuple(sorted(found, key=lambda pair: -pair.value))

    @property
    def headline(self) -> str:
        """How many pairs of groups differ."""
        n = len(self.significant)
        few = undecided(
            [pair.p_value for pair in self.pairs],
            [pair.corrected_p_value for pair in self.pairs],
            self.n_draws,
            self.alpha,
        )
        return (
            f"{n} of {count(len(self.pairs), 'pair')} {agree_with_share(n, len(self.pairs), 'differs', 'differ')} by "
            f"the E-distance (corrected p at most {self.alpha:g}){f'; this {few}' if few else ''}."
            f"{_too_small(self.excluded, self._sizes, 'group', 'cell')}{self._undecided_note}"
        )

    @property
    def _sizes(self) -> list[int]:
        """Number of rows of each group that was compared, without the first one, with which others are compared."""
        sizes = {pair.first: pair.n_first for pair in self.pairs} | {pair.second: pair.n_second for pair in self.pairs}
        return list(sizes.values())[1:]

    @property
    def _undecided_note(self) -> str:
        """How many pairs have too few units to be significant; empty if none has."""
        few = [pair for pair in self.pairs if pair.exchanged == "units" and pair.verdict == UNDECIDED]
        if not few:
            return ""
        smallest = say.span([1 + pair.n_draws for pair in few])
        return f" {count(len(few), 'pair')} cannot be decided: the units allow only {smallest} different exchanges."

    def _claim(self) -> str:
        tested = [pair for pair in self.pairs if pair.has_null]
        shown = self.significant or sorted(tested, key=lambda pair: (pair.corrected_p_value, -pair.value))[:1]
        exchanged = " and ".join(dict.fromkeys(pair.exchanged for pair in tested))
        drawn = f"p from {say.span(pair.n_draws for pair in tested)} permutations of {exchanged}" if tested else ""
        return say.listing(
            self.headline.removesuffix("."),
            [say.clause(pair, f"{pair.first} and {pair.second}") for pair in shown],
            "E-distance without the contribution of noise (Peidli et al. 2024)",
            f"{drawn}, corrected by Benjamini and Hochberg" if drawn else "",
            others="pairs",
        )

    def _frame(self, *, full: bool) -> pd.DataFrame:
        """Return a table with one row per pair, the most distant first."""
        pairs = sorted(self.pairs, key=lambda pair: -pair.value)
        return frame_of_numbers(pairs, "first", "second", "n_first", "n_second", "e_distance", full=full)

    def to_matrix(self) -> pd.DataFrame:
        """Return the E-distances as a symmetric table of groups by groups, with NaN for pairs not compared."""
        frame = self.to_frame()
        table = frame.pivot_table(index="first", columns="second", values="e_distance")
        names = list(dict.fromkeys([*(pair.first for pair in self.pairs), *(pair.second for pair in self.pairs)]))
        table = table.reindex(index=names, columns=names)
        table = table.combine_first(table.T)
        for name in names:
            table.loc[name, name] = 0.0
        return table.rename_axis(index=None, columns=None)

    def _numbers(self) -> tuple[Part, ...]:
        """Return one row per pair, the most distant first, and the groups that were not compared."""
        pairs = sorted(self.pairs, key=lambda pair: -pair.value)
        rows = [replace(pair, name=f"{pair.first}, {pair.second}") for pair in pairs]
        table = table_of_numbers(rows, "E-distances", "pair", {"E-distance": [p.e_distance for p in pairs]})
        left_out = "; ".join(f"{name} ({why})" for name, why in self.excluded.items())
        return (*table, *texts([f"Not compared: {left_out}." if left_out else ""]))
