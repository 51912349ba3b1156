"""The sentence with which a paper can report an audit."""

from __future__ import annotations

from shesha.results import sentence_parts as say
from shesha.results.audit.audit import Audit, RepresentationAudit
from shesha.results.paper_sentences import claim
from shesha.results.sentence_parts import add_source


@claim.register
def _audit(result: Audit) -> str:
    clauses = "; ".join(_stability(finding) for finding in result.representations)
    return f"Stability of the geometry, {add_source('feature_split', 'feature split')}: {clauses}"


def _stability(finding: RepresentationAudit) -> str:
    estimate = finding.feature_split
    if estimate is None or estimate.value != estimate.value:
        return f"{finding.name}, not estimable"
    null = f"{say.null(estimate, estimate.alpha)}, {say.draws(estimate.n_draws, estimate.exchanged)})"
    clause = f", {null}" if estimate.has_null else ""
    value = f"{say.format_number(estimate.value)}{say.interval(estimate.low, estimate.high, estimate.confidence)}"
    return f"{finding.name}, {value} over {estimate.n_rows:,} rows{clause}"
