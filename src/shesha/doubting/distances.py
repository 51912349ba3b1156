"""Doubts about the distances themselves."""

from __future__ import annotations

import numpy as np

from shesha.doubting._registry import doubt
from shesha.doubting.subject import Subject
from shesha.results import Doubt
from shesha.views import Representation

_TIED = 0.25
"""Share of the pairs of rows whose distance another pair has as well."""


@doubt("ties")
def ties(subject: Subject) -> Doubt | None:
    """Many distances are equal: ranks, neighbours and medians then follow the rule for ties."""
    found, tolerance = Representation.of(subject.sample).condensed(subject.metric, squared=True)
    known = np.sort(found[np.isfinite(found)])
    if len(known) < 2:
        return None
    same = np.diff(known) <= tolerance
    if same.all():
        # Nothing is left to be doubted: no score has a value.
        return None
    share = float(np.mean(np.concatenate([[False], same]) | np.concatenate([same, [False]])))
    if share < _TIED:
        return None
    text = f"{100 * share:.0f} % of the distances equal another one: rows take few values"
    advice = (
        "Ranks and neighbours then depend on the rule for ties; prefer measures of features (CKA), or more features"
    )
    n_values = 1 + int(np.count_nonzero(~same))
    # With so few different distances a rank tells no more than a class.
    return Doubt("ties", share * min(1.0, len(found) ** 0.5 / n_values), None, text, advice)
