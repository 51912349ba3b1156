"""The published drift scores."""

from __future__ import annotations

import numpy as np

from shesha.measures import get
from shesha.support.types import Matrix

METRICS = ("shesha", "cka", "procrustes", "squared", "pearson", "wasserstein")
"""Columns of `drifts`; the published tables have the first three."""
NAMES = {
    "shesha": "Shesha (RDM)",
    "cka": "CKA",
    "procrustes": "Procrustes",
    "squared": "Procrustes, squared",
    "pearson": "RDM-Pearson",
    "wasserstein": "Wasserstein",
}
NAMED = {name: NAMES[name] for name in ("shesha", "cka", "procrustes", "squared")}
"""Of the numbers of causal models."""
BOUND = 0.05
"""Published detection bound, which is the same for all scores."""


def drifts(before: Matrix, after: Matrix) -> dict[str, float]:
    """Return the drift by each score: a distance, or 1 minus a similarity; 0 means no change.

    The text of the paper defines Procrustes similarity as 1 - |X - YR|^2 / (|X|^2 + |YR|^2). The column "squared" is 1
    minus this similarity. The published tables agree with the distance |X - YR| of centred matrices with norm 1.
    It is the square root of twice "squared", and is the column "procrustes".
    """
    x, y = np.asarray(before, dtype=np.float64), np.asarray(after, dtype=np.float64)
    return {
        "shesha": get("RDM drift").score(x, y),
        "cka": 1.0 - get("unbiased CKA").score(x, y),
        "procrustes": get("OrthProc").score(x, y),
        "squared": 1.0 - get("Procrustes similarity").score(x, y),
        "pearson": get("RDM drift(method=pearson)").score(x, y),
        "wasserstein": get("sliced Wasserstein(seed=320)").score(x, y),
    }
