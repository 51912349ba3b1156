"""What cards say of chance is so."""

from itertools import combinations, permutations

import numpy as np
import pytest
from scipy.spatial.distance import pdist

import shesha.measures as measures
from shesha.descriptors import participation_ratio


@pytest.mark.parametrize("widths", [(3, 2), (9, 4)])
def test_mean_of_cka_over_all_matchings_of_rows(rng, widths):
    X, Y = (rng.standard_normal((6, d)) * np.geomspace(1, 4, d) for d in widths)
    every = [measures.cka(X, Y[list(order)]) for order in permutations(range(6))]
    ratios = participation_ratio(X) * participation_ratio(Y)
    assert np.mean(every) == pytest.approx(np.sqrt(ratios) / 5, rel=1e-12)


def test_cka_of_equal_variances(rng):
    n, p, q = 200, 20, 300
    found = [measures.cka(rng.standard_normal((n, p)), rng.standard_normal((n, q))) for _ in range(5)]
    assert np.mean(found) == pytest.approx(np.sqrt(p * q / ((n + p) * (n + q))), rel=0.03)


def test_mean_square_of_mmd_over_all_ways_to_deal_out_the_rows(rng):
    rows = rng.standard_normal((8, 3))
    distances = pdist(rows)
    found = []
    for some in combinations(range(8), 4):
        others = [i for i in range(8) if i not in some]
        found.append(measures.mmd(rows[list(some)], rows[others]) ** 2)
    kernel = np.exp(-(distances**2) / (2 * np.median(distances) ** 2))
    assert np.mean(found) == pytest.approx(2 * (1 - kernel.mean()) / 4, rel=1e-12)


def test_mean_kernel_with_the_median_bandwidth(rng):
    distances = pdist(rng.standard_normal((300, 64)))
    kernel = np.exp(-(distances**2) / (2 * np.median(distances) ** 2))
    assert 2 * (1 - kernel.mean()) == pytest.approx(0.8, abs=0.02)


def test_cycles_of_neighbours(rng):
    X, Y = rng.standard_normal((2, 300, 64))
    for k in (5, 10, 20):
        found = measures.cycle_knn(X, Y, k=k)
        assert found == pytest.approx(1 - np.exp(-(k**2) / 300), abs=0.1)
    # Far fewer rows than k^2 / 2: nearly every row comes back.
    assert measures.cycle_knn(X[:30], Y[:30]) > 0.9
