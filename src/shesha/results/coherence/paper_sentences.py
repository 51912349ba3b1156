"""Sentences with which a paper can report groups of rows that shift in a common direction."""

from __future__ import annotations

from shesha.results import sentence_parts as say
from shesha.results.coherence.coherence import TOGETHER, UNDECIDED, Coherence, CoherenceTable
from shesha.results.paper_sentences import claim
from shesha.support.wording import agree_with_share

_SOURCE = "coherence of shifts (Raju 2026)"


@claim.register
def _coherence(result: Coherence) -> str:
    start = (
        f"The {result.n_rows:,} rows of {result.name} had an unbiased {_SOURCE} of {_unbiased(result)} against "
        f"{result.n_controls:,} controls"
    )
    if not result.has_null:
        return f"{start}, without a chance level ({result.reason})"
    return f"{start} (p = {say.format_p(result.p_value)}, {result.n_draws:,} null groups)"


def _unbiased(group: Coherence) -> str:
    ends = say.interval(group.low, group.high, group.confidence)
    return f"{say.format_number(group.value)}{ends}"


@claim.register
def _table(result: CoherenceTable) -> str:
    tested = [group for group in result.groups if group.has_null]
    above = result.named(TOGETHER)
    closest = [] if above else sorted(tested, key=lambda group: (group.corrected_p_value, -group.value))[:1]
    listed = say.join_clauses(
        [_group(group, result.row_noun) for group in above or closest], f"more {result.group_noun}s"
    )
    which = "" if above or not closest else "closest: "
    undecided = result.named(UNDECIDED)
    doubt = f"; {len(undecided)} cannot be decided with so few units or null groups" if undecided else ""
    shuffled = f" (for {say.count(result.n_shuffled, f'large {result.group_noun}')}, of permuted labels)"
    alpha, rows = result.groups[0].alpha, f"{result.row_noun}s"
    whose = agree_with_share(len(above), len(tested), "its", "their")
    return (
        f"{len(above)} of {say.count(len(tested), result.group_noun)} shifted {whose} {rows} in a common direction, "
        f"above chance (p_adj <= {alpha:g}, Benjamini and Hochberg) by the unbiased "
        f"{_SOURCE}, {result.method}, against {result.n_controls:,} controls "
        f"({which}{listed or 'no chance level'}){doubt}; p-values compare it with {_null_groups(result)}"
        f"{shuffled if result.n_shuffled else ''}"
    )


def _null_groups(result: CoherenceTable) -> str:
    """Return how many null groups there were, and of what."""
    tested = [group.n_draws for group in result.groups if group.has_null]
    n = say.span(tested) if tested else "0"
    if result.exchanged.startswith("signs"):
        return f"{n} random choices of the {result.exchanged}"
    return f"{n} null groups of {result.exchanged}"


def _group(group: Coherence, noun: str) -> str:
    p = say.format_p(group.corrected_p_value)
    return f"{group.name} {_unbiased(group)} over {say.count(group.n_rows, noun)}, p_adj = {p}"
