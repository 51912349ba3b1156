"""Distances that are exactly 0: pairs that were never measured, or rows that are equal."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist

import shesha
from shesha import Rdm, neuro

RNG = np.random.default_rng(0)
POINTS = RNG.standard_normal((14, 3))
CATEGORIES = np.repeat(np.arange(7), 2)
DISTANCES = pdist(POINTS)
UNSEEN = RNG.random(91) < 0.3
CASES = {
    "unseen pairs": (np.where(UNSEEN, 0, DISTANCES), True),
    "unseen pairs of a noisy subject": (np.where(UNSEEN, 0, np.abs(DISTANCES + RNG.standard_normal(91))), True),
    "as NaN": (np.where(UNSEEN, np.nan, DISTANCES), False),
    "equal rows": (pdist(POINTS[CATEGORIES]), False),
    "categories": (pdist(CATEGORIES[:, None], "hamming"), False),
    "ratings": (np.clip(np.round(2 * DISTANCES - 2), 0, 6), False),
    "one pair": (np.where(np.arange(91) == 5, 0, DISTANCES), False),
    "plain": (DISTANCES, False),
}


@pytest.mark.parametrize(("distances", "doubted"), CASES.values(), ids=CASES)
def test_zeros_between_unlike_rows_are_doubted(distances, doubted):
    compared = shesha.compare(Rdm(distances), Rdm(DISTANCES), "RSA")
    ceiling = neuro.noise_ceiling(
        np.stack([DISTANCES + 0.2 * RNG.random(91), distances, DISTANCES + 0.1 * RNG.random(91)])
    )
    for found in (compared, ceiling):
        assert any("many distances are exactly 0 between rows" in one for one in found.inputs) == doubted
