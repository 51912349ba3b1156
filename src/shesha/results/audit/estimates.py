"""Estimates of an audit by name, as printed text, and the rank of a representation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shesha.results.stability.estimate import Estimate

if TYPE_CHECKING:
    from shesha.results.audit.audit import Audit, RepresentationAudit


def place(audit: Audit, name: str) -> str:
    """Return the position of a representation in the ranking by stability; empty if it has none."""
    return str(audit.ranking.index(name) + 1) if name in audit.ranking else ""


def find_estimate(finding: RepresentationAudit, name: str) -> Estimate | None:
    """Return the score with this name, whether or not it needs labels."""
    return finding.scores.get(name) or finding.supervised.get(name)


def interval(estimate: Estimate | None, digits: int = 3) -> str:
    """Format a score with its interval."""
    if estimate is None:
        return ""
    if estimate.value != estimate.value:
        return "none"
    ends = f" [{estimate.low:.{digits}f}, {estimate.high:.{digits}f}]" if estimate.low == estimate.low else ""
    return f"{estimate.value:.{digits}f}{ends}"
