"""The plot of an audit."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan
from typing import TYPE_CHECKING

from shesha.charts import Series, intervals

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from shesha.results.audit.audit import Audit, RepresentationAudit
    from shesha.results.stability.estimate import Estimate


_WITHIN_ONE = ("supervised_alignment", "variance_ratio", "zscore_separation", "label_conditioned_split")
"""Scores that need labels and that, like the split scores, are at most 1."""


def draw(audit: Audit, ax: Axes | None) -> Axes:
    """Draw the split scores of each representation with their intervals and chance thresholds.

    If there is only one representation, each score gets its own position, and scores that need labels are included.
    """
    findings = audit.representations
    if len(findings) == 1:
        return _plot_representation(audit, findings[0], ax)
    scores = {
        "feature split": _series([finding.feature_split for finding in findings]),
        "basis averaged": _series([finding.basis_averaged_split for finding in findings]),
    }
    thresholds = [nan if finding.chance is None else finding.chance.threshold for finding in findings]
    return intervals([finding.name for finding in findings], scores, thresholds, label="stability", ax=ax)


def _plot_representation(audit: Audit, finding: RepresentationAudit, ax: Axes | None) -> Axes:
    shown = {
        "feature split": (finding.feature_split, "feature_split"),
        "basis averaged": (finding.basis_averaged_split, "basis_averaged_split"),
        **{
            audit.meanings[name].title: (finding.supervised[name], name)
            for name in _WITHIN_ONE
            if name in finding.supervised and name in audit.meanings
        },
    }
    chances = {**finding.supervised_chances, **finding.chances}
    thresholds = [chances[name].threshold if name in chances else nan for _, name in shown.values()]
    scores = {finding.name: _series([estimate for estimate, _ in shown.values()])}
    return intervals(list(shown), scores, thresholds, label="score", joined=False, ax=ax)


def _series(estimates: Sequence[Estimate | None]) -> Series:
    known = [(nan, nan, nan) if score is None else (score.value, score.low, score.high) for score in estimates]
    values, lows, highs = zip(*known, strict=True)
    return Series(values, lows, highs)
