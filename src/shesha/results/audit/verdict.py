"""A verdict in words on whether a representation is stable."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shesha.results.audit.audit import RepresentationAudit
    from shesha.results.stability.estimate import Estimate

NEAR_ZERO = 0.1
"""Score below which single distances are mostly noise, even if the score is above chance."""
GRADES = ((NEAR_ZERO, "mostly noise"), (0.3, "weak"), (0.6, "moderate"), (float("inf"), "strong"))
"""Upper limits of the scores, each with the word for scores below it; a convention, as for correlations."""
_GAP = 0.05
"""Smallest difference between two scores that is reported; smaller ones are ignored even if significant."""


def verdict(finding: RepresentationAudit) -> str:
    """Return a few words that say whether the geometry is stable.

    Examples
    --------
    >>> import numpy as np, shesha
    >>> noise = np.random.default_rng(0).standard_normal((40, 16))
    >>> verdict(shesha.audit({"noise": noise}, n_bootstrap=0, n_permutations=19, seed=0)["noise"])
    'not above chance'
    """
    score = finding.feature_split
    if finding.reason or score is None or score.value != score.value:
        return "not scored"
    if has_fitted_axes(finding) or is_stable_off_axes(finding):
        averaged = finding.basis_averaged_split
        return "not above chance" if averaged is None else f"basis-averaged {averaged.value:.2f}"
    if finding.chance is not None and not finding.chance.significant:
        return "not above chance"
    grade = next(word for below, word in GRADES if score.value < below)
    return grade if finding.chance is None else f"above chance, {grade}"


def has_fitted_axes(one: RepresentationAudit) -> bool:
    """Return whether the axes were fitted to the rows (as in PCA), so that halves of them share nothing."""
    return one.doubts is not None and "whitened" in one.doubts


def is_stable_off_axes(one: RepresentationAudit) -> bool:
    """Return whether the axes share almost nothing although random directions do, as after some PCAs."""
    score = one.feature_split
    return score is not None and score.value < NEAR_ZERO and is_clearly_above(one.basis_averaged_split, score)


def is_clearly_above(one: Estimate | None, other: Estimate | None) -> bool:
    """Return whether a score exceeds another by a clear margin and, if both have intervals, beyond them."""
    if one is None or other is None:
        return False
    is_disjoint = one.low > other.high if one.low == one.low and other.high == other.high else True
    return is_disjoint and one.value - other.value >= _GAP
