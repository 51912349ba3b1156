"""The page that shows which groups shift in a common direction, as a table and a picture."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from shesha.report import Column, Drawing, Page, Section, Strip, Table, Text
from shesha.results.coherence.coherence import Coherence, CoherenceTable
from shesha.results.generic_page import as_table, field_explanations, run_details

if TYPE_CHECKING:
    from collections.abc import Sequence

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
