"""What a paper would say of an audit."""

from __future__ import annotations

from shesha.results import sentence_parts as say
from shesha.results.audit.audit import Audit, RepresentationAudit
from shesha.results.citation_sources import with_source
from shesha.results.paper_sentences import claim
from shesha.results.stability.chance import Chance


@claim.register
def _audit(result: Audit) -> str:
    clauses = "; ".join(_stability(one) for one in result.representations)
    return f"Stability of the geometry, {with_source('feature_split', 'feature split')}: {clauses}"


def _stability(one: RepresentationAudit) -> str:
    found = one.feature_split
    if found is None or found.value != found.value:
        return f"{one.name}, not estimable"
    chance = one.chances.get("feature_split")
    told = f", {_chance(chance)}" if chance is not None and chance.p_value == chance.p_value else ""
    value = f"{say.format_number(found.value)}{say.interval(found.low, found.high, found.confidence)}"
    return f"{one.name}, {value} over {found.n_samples:,} rows{told}"


def _chance(chance: Chance) -> str:
    found = say.null(chance, chance.alpha)
    return f"{found}, {say.draws(chance.n_permutations, chance.exchanged)})"
