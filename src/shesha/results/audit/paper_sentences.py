"""The sentence with which a paper can report an audit."""

from __future__ import annotations

from shesha.results import sentence_parts as say
from shesha.results.audit.audit import Audit, RepresentationAudit
from shesha.results.paper_sentences import claim
from shesha.results.sentence_parts import add_source
from shesha.results.stability.scores import Chance


@claim.register
def _audit(result: Audit) -> str:
    clauses = "; ".join(_stability(finding) for finding in result.representations)
    return f"Stability of the geometry, {add_source('feature_split', 'feature split')}: {clauses}"


def _stability(finding: RepresentationAudit) -> str:
    estimate = finding.feature_split
    if estimate is None or estimate.value != estimate.value:
        return f"{finding.name}, not estimable"
    chance = finding.chances.get("feature_split")
    clause = f", {_chance(chance)}" if chance is not None and chance.p_value == chance.p_value else ""
    value = f"{say.format_number(estimate.value)}{say.interval(estimate.low, estimate.high, estimate.confidence)}"
    return f"{finding.name}, {value} over {estimate.n_rows:,} rows{clause}"


def _chance(chance: Chance) -> str:
    null = say.null(chance, chance.alpha)
    return f"{null}, {say.draws(chance.n_draws, chance.exchanged)})"
