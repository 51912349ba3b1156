"""Weighted tables of cells give the rank correlation of rows that are really replicated."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import rankdata, spearmanr

import shesha.kernels.feature_halves as bootstrap_module
from shesha.kernels import native
from shesha.kernels.feature_halves import (
    UNDEFINED,
    bootstrap_correlations,
    rank_cells,
    row_counts,
    subset_correlations,
)
from shesha.kernels.sorting import order_values

N = 150


@pytest.fixture
def pairs():
    return np.triu_indices(N, k=1)


@pytest.fixture
def distances(rng):
    a = rng.standard_normal(N * (N - 1) // 2)
    return a, a + rng.standard_normal(len(a))


def cells(a, b):
    outer = order_values(a.copy(), 0.0, np.empty(len(a), dtype=np.uint64))
    inner = order_values(b[outer.order], 0.0, np.empty(len(a), dtype=np.uint64))
    return rank_cells(outer, inner)


def replicated(a, b, counts, *, with_self=False):
    """Correlate the pairs of rows that are written out as often as they were drawn."""
    rows = np.repeat(np.arange(len(counts)), counts.astype(int))
    i, j = np.triu_indices(len(rows), k=1)
    i, j = rows[i], rows[j]
    square = np.zeros((2, len(counts), len(counts)))
    for at, vector in enumerate((a, b)):
        square[at][np.triu_indices(len(counts), k=1)] = vector
        square[at] += square[at].T
    keep = np.full(len(i), True) if with_self else i != j
    return spearmanr(square[0, i[keep], j[keep]], square[1, i[keep], j[keep]]).statistic


def all_scores(cells, counts, pairs):
    return np.concatenate([table for _, table in bootstrap_correlations(cells, counts, pairs)], axis=1)


def test_row_counts_are_draws_with_replacement(rng):
    counts = row_counts(20, 3000, rng)
    assert counts.shape == (20, 3000)
    assert (counts.sum(axis=0) == 20).all()
    assert counts.mean(axis=1) == pytest.approx(np.ones(20), abs=5 / np.sqrt(3000))
    assert counts.var() == pytest.approx(1 - 1 / 20, rel=0.05)


def test_deviations_are_those_of_replicated_rows(distances, pairs, rng):
    a, b = distances
    counts = row_counts(N, 25, rng)
    scores = all_scores([cells(a, b)], np.hstack([np.ones((N, 1)), counts]), pairs)[0]
    exact = np.array([replicated(a, b, column) for column in counts.T])
    deviations = scores[1:] - scores[0]
    assert_allclose(deviations, exact - spearmanr(a, b).statistic, atol=5e-4)
    assert np.ptp(deviations) > 0.02


def test_pairs_of_a_row_with_itself_never_count(pairs, rng):
    # Far apart in both: a pair at distance zero would agree in both halves and raise the score.
    a, b = 10 + rng.standard_normal((2, N * (N - 1) // 2))
    counts = row_counts(N, 12, rng)
    scores = all_scores([cells(a, b)], counts, pairs)[0]
    with_self = np.mean([replicated(a, b, column, with_self=True) for column in counts.T])
    assert abs(scores.mean()) < 0.02
    assert with_self > scores.mean() + 0.01


def test_tied_pairs_share_a_cell_so_few_levels_are_exact(pairs, distances, rng):
    a, b = (np.clip(np.round(vector), -1, 1) for vector in distances)
    counts = row_counts(N, 12, rng)
    scores = all_scores([cells(a, b)], counts, pairs)[0]
    assert_allclose(scores, [replicated(a, b, column) for column in counts.T], atol=1e-12)


def test_undefined_pairs_do_not_count(pairs, distances, rng):
    a, b = distances
    found, kept = cells(a, b), rng.random(len(a)) < 0.7
    counts = row_counts(N, 5, rng)
    part = all_scores([found[kept]], counts, (pairs[0][kept], pairs[1][kept]))
    found[~kept] = UNDEFINED
    assert_allclose(all_scores([found], counts, pairs), part, atol=1e-13)


def test_groups_and_stretches_do_not_change_the_scores(pairs, distances, rng, monkeypatch):
    found = [cells(*distances), cells(*distances[::-1])]
    counts = row_counts(N, 21, rng)
    whole = all_scores(found, counts, pairs)
    assert whole.shape == (2, 21)
    monkeypatch.setattr(bootstrap_module, "_TOGETHER", 4)
    monkeypatch.setattr(bootstrap_module, "_BLOCK", 100)
    assert_allclose(all_scores(found, counts, pairs), whole, atol=1e-13)


def test_a_resample_of_one_row_alone_scores_nan(pairs, distances):
    counts = np.zeros((N, 1))
    counts[3] = N
    assert np.isnan(all_scores([cells(*distances)], counts, pairs)).all()


def test_subsets_are_correlated_from_the_coarsened_ranks_of_all_pairs(distances, rng, monkeypatch):
    first, second = map(rankdata, distances)
    subsets = [np.sort(rng.choice(N, 120, replace=False)) for _ in range(18)]
    found = subset_correlations(first, second, N, subsets)
    exact = np.array([replicated(*distances, np.isin(np.arange(N), subset)) for subset in subsets])
    assert_allclose(found, exact, atol=1e-3)
    assert np.abs((found - found.mean()) - (exact - exact.mean())).max() < 0.1 * exact.std()
    monkeypatch.setattr(bootstrap_module, "_PAIRS_OF_PANEL", 400)
    assert_allclose(subset_correlations(first, second, N, subsets), found, atol=1e-14)
    monkeypatch.setattr(native, "is_available", lambda: False)
    assert_allclose(subset_correlations(first, second, N, subsets), found, atol=1e-14)
