"""Sentences with which a paper can report scores of trials and sessions."""

from __future__ import annotations

from shesha.results import sentence_parts as say
from shesha.results.base import reaches_level
from shesha.results.neuro.session_drift import SessionDrift, SessionPart
from shesha.results.neuro.session_table import Association, Group, SessionTable
from shesha.results.neuro.time_by_time import OverTime
from shesha.results.neuro.trial_score import SIDES, Tertiles, TrialScore
from shesha.results.paper_sentences import claim


@claim.register
def _trial_score(result: TrialScore) -> str:
    name = result.name.replace("_", " ")
    if result.value != result.value:
        return f"The score {name} could not be estimated: {result.reason}"
    unused = f" ({result.n_unused:,} of them unused in each draw)" if result.n_unused else ""
    sizes = f"over {result.n_rows:,} trials{unused} of {result.n_neurons:,} neurons"
    sizes += f" under {say.count(result.n_conditions, 'condition')}" if result.n_conditions else ""
    start = f"The score {name} was {say.format_number(result.value)} {sizes}"
    if not result.has_null:
        return f"{start}, without a chance level"
    verdict = say.verdict_phrase(result.p_value, result.alpha, SIDES[result.closer])
    return (
        f"{start}, {verdict} (p = {say.format_p(result.p_value)}, null mean {say.format_number(result.chance)}, sd "
        f"{say.format_number(result.chance_sd)}, {_orders(result.n_draws, result.exchanged)})"
    )


def _orders(n: int, exchanged: str) -> str:
    return say.draws(n, "the trials" if exchanged in ("", "all rows") else exchanged)


@claim.register
def _tertiles(result: Tertiles) -> str:
    test = result.difference
    significance = (
        f"not significant at {test.alpha:g}, as for a gradual change"
        if result.gradual
        else f"significant at {test.alpha:g}, so the change was not gradual"
    )
    return (
        f"The cosine between mean responses was {say.format_number(result.early_middle.value)} for the first and "
        f"second third and {say.format_number(result.middle_late.value)} for the second and last third of "
        f"{test.n_rows:,} trials of {test.n_neurons:,} neurons; their difference, {say.format_number(test.value)} "
        f"(p = {say.format_p(test.p_value)}, null mean {say.format_number(test.chance)}, "
        f"{_orders(test.n_draws, test.exchanged)}), was {significance}"
    )


@claim.register
def _over_time(result: OverTime) -> str:
    if result.value != result.value:
        return f"Agreement of distances over time could not be estimated: {result.reason}"
    first, second = result.argmax
    start = (
        f"The largest agreement of distances between times was {say.format_number(result.value)} (at {first:g} and "
        f"{second:g}) over {result.n_rows:,} trials of {result.n_neurons:,} neurons under "
        f"{say.count(result.n_conditions, 'condition')}"
    )
    if not result.has_null:
        return f"{start}, without a chance level"
    above = sum(reaches_level(p, result.alpha) for line in result.p_values for p in line)
    null = say.null(result, result.alpha, "null of the largest:")
    return (
        f"{start}, {null}, {_orders(result.n_draws, result.exchanged)}); {above} of {len(result.times) ** 2} "
        "pairs of times were above the chance threshold of the largest agreement"
    )


@claim.register
def _session_drift(result: SessionDrift) -> str:
    clauses = []
    for pair in result.pairs:
        if not pair.parts:
            clauses.append(f"{pair.first} and {pair.second} not estimable ({pair.reason})")
            continue
        parts = ", ".join(
            f"{part.name.replace('_', ' ')} {say.format_number(part.value)} between sessions (chance "
            f"{say.format_number(part.chance)}, p = {say.format_p(part.p_value)}) and "
            f"{say.format_number(part.within)} within sessions{_change_clause(part, result.confidence)}"
            for part in pair
        )
        clauses.append(f"{pair.first} and {pair.second} ({pair.n_shared:,} shared neurons): {parts}")
    return (
        f"Agreement between halves of the trials of {len(result.sessions)} sessions, compared with that within "
        f"sessions: {say.join_clauses(clauses, 'more pairs')}; {result.n_draws:,} random matchings of neurons "
        "(for the geometry, of conditions) for agreement, and as many random divisions of the trials for changes; "
        "p-values of changes are corrected for the number of pairs and parts"
    )


def _change_clause(part: SessionPart, confidence: float) -> str:
    if part.change_p_value != part.change_p_value:
        return ""
    return (
        f" ({say.format_share(confidence)} interval of the change {say.format_number(part.change_low)} to "
        f"{say.format_number(part.change_high)}, corrected p = {say.format_p(part.corrected_change_p_value)})"
    )


@claim.register
def _session_table(result: SessionTable) -> str:
    n_sessions = len({line.session for line in result.lines})
    n_animals = len({line.animal for line in result.lines})
    score = result.scores[0] if result.scores else ""
    groups = [group for group in result.groups if score in group.means]
    means = say.join_clauses([_group_clause(group, score, result) for group in groups], f"more {result.by}s")
    return (
        f"Mean {score.replace('_', ' ')} by {result.by} over {say.count(n_sessions, 'session')} of "
        f"{say.count(n_animals, 'animal')} (intervals over {result.interval}s): {means or 'nothing could be scored'}"
    )


def _group_clause(group: Group, score: str, result: SessionTable) -> str:
    mean = group.means[score]
    if mean.value != mean.value:
        return f"{group.name} not estimable"
    return (
        f"{group.name} {say.format_number(mean.value)}{say.interval(mean.low, mean.high, result.confidence)}, chance "
        f"{say.format_number(mean.chance)}, {mean.n_beyond} of {mean.n_rows} areas beyond chance at {result.alpha:g} "
        "(uncorrected)"
    )


@claim.register
def _association(result: Association) -> str:
    controls = f", controlling for {' and '.join(result.covariates)}" if result.covariates else ""
    return (
        f"Spearman's rho of {result.first} and {result.second} over {result.n_rows:,} lines{controls} was "
        f"{say.format_number(result.value)}{say.interval(result.low, result.high, result.confidence)} (p = "
        f"{say.format_p(result.p_value)} over {say.count(result.n_clusters, result.clusters)})"
    )
