"""A test of one's own, as a user would write it: do measures follow how sure models are of their answers?"""

from __future__ import annotations

import numpy as np

from shesha_bench.tests import ByGroups, ByPrediction, Output


def _sureness(a: Output, b: Output) -> float:
    first, second = (float(np.mean(np.max(one.probabilities, axis=1))) for one in (a, b))
    return abs(first - second)


SURENESS = ByPrediction(
    name="sureness",
    title="Sureness correlation",
    claim="Models are the less similar the more the mean probabilities of their answers differ.",
    rows=("sureness",),
    counts={"sureness": "spearman"},
    differences={"sureness": _sureness},
)

WIDTH = ByGroups(
    name="width",
    title="Width",
    claim="Models of equal width are more similar than models of different widths.",
    rows=("width",),
    counts={"width": "conformity"},
    kind="width",
)
