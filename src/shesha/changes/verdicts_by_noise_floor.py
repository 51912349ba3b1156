"""Decide from a drift and its noise floor whether a layer changed, by rules with known error rates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shesha.results.diff import ENOUGH, Verdict

UNCHANGED = 1e-9
"""Largest drift that counts as no change, because rounding may cause it; MiniLM re-encodes with 2e-11."""
REPLACED = 0.5
"""Drift above which a layer counts as replaced; unrelated geometries have a drift of 1."""
MARGIN = 2.0
"""Factor on the largest drift between a few re-encodings, because few of them underestimate the noise."""


def noise_limit(noise: Sequence[float]) -> float:
    """Return the limit that a change must exceed to count as more than noise.

    With at least 19 unchanged encodings, the limit is their largest drift, which a further unchanged encoding exceeds
    in at most one of 20 cases. With fewer, the limit is twice their largest drift.

    Examples
    --------
    >>> noise_limit([0.01, 0.03])
    0.06
    >>> noise_limit([0.03] * 19)
    0.03
    """
    known = [drift for drift in noise if np.isfinite(drift)]
    if not known:
        return float("nan")
    return max(known) * (1.0 if len(known) >= ENOUGH else MARGIN)


def judge(change: float, low: float, limit: float, replaced: float = REPLACED) -> Verdict:
    """Return the verdict on a layer, given the lower end of the interval of its change.

    A change above the limit whose interval contains the limit may be noise or not. With a limit so high that a replaced
    layer may not exceed it, the absence of a change cannot be shown either.

    Examples
    --------
    >>> [judge(change, 0.8 * change, limit=0.01) for change in (0.0, 0.009, 0.011, 0.1, 0.9)]
    ['unchanged', 'within noise', 'cannot decide', 'changed', 'replaced']
    >>> judge(0.3, 0.2, limit=0.7)
    'cannot decide'
    """
    if not (np.isfinite(change) and np.isfinite(limit)):
        return "not estimable"
    if replaced <= UNCHANGED:  # The measure saturates: unrelated rows would not differ either.
        return "cannot decide"
    if change <= UNCHANGED:
        return "unchanged"
    # Without an interval, compare the change itself with the limit.
    least = low if np.isfinite(low) else change
    if not least > limit:
        return "cannot decide" if change > limit or limit > replaced else "within noise"
    return "replaced" if least > replaced else "changed"
