"""What a paper would say of groups of rows that move together, or do not."""

from __future__ import annotations

from shesha.results import sentence_parts as say
from shesha.results.base import reaches_level
from shesha.results.coherence.coherence import Coherence, CoherenceTable
from shesha.results.paper_sentences import claim

_SOURCE = "coherence of shifts (Raju 2026)"


@claim.register
def _coherence(result: Coherence) -> str:
    start = (
        f"The {result.n:,} rows of {result.name} had an unbiased {_SOURCE} of {_unbiased(result)} against "
        f"{result.n_controls:,} controls"
    )
    if not result.has_null:
        return f"{start}, without a chance level ({result.reason})"
    found = say.null(result, result.alpha)
    return (
        f"{start}; the coherence, {say.format_number(result.coherence)}, was {found}, {result.n_draws:,} null groups)"
    )


def _unbiased(one: Coherence) -> str:
    ends = say.interval(one.unbiased_ci_low, one.unbiased_ci_high, one.confidence)
    return f"{say.format_number(one.unbiased)}{ends}"


@claim.register
def _table(result: CoherenceTable) -> str:
    tested = [one for one in result.groups if one.has_null]
    ordered = sorted(tested, key=lambda one: (one.p_adjusted, -one.unbiased))
    above = [one for one in ordered if reaches_level(one.p_adjusted, one.alpha)]
    clauses = say.join_clauses(
        [
            f"{one.name} {_unbiased(one)} over {one.n:,} rows, p = {say.format_p(one.p_adjusted)}"
            for one in above or ordered[:1]
        ],
        "more groups",
    )
    unsure = sum(one.unbiased_ci_low <= 0 for one in above)
    doubt = f"; the intervals of {unsure} of these contain 0" if unsure else ""
    which = "" if above or not clauses else "closest: "
    alpha = tested[0].alpha if tested else 0.05
    return (
        f"{len(above)} of {say.count(len(result.groups), 'group')} moved together above chance at {alpha:g} by the "
        f"{_SOURCE}, {result.method}, against {result.n_controls:,} controls ({which}{clauses or 'no chance level'}; "
        f"{result.n_draws:,} null groups of {result.exchanged}, p corrected by Benjamini and Hochberg){doubt}"
    )
