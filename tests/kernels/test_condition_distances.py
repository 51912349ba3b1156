"""Rank agreement of distances between conditions is Spearman's, over the pairs that both sides know."""

import numpy as np
import pytest
from scipy.stats import rankdata, spearmanr

from shesha.kernels.condition_distances import _FEWEST_PAIRS, agreement
from shesha.kernels.ranks import centred_ranks


@pytest.mark.parametrize("n_known", [_FEWEST_PAIRS - 1, _FEWEST_PAIRS, 12])
def test_agreement_is_spearmans_from_a_few_pairs_on(n_known):
    rng = np.random.default_rng(n_known)
    first, second = rng.standard_normal((2, 5, 15))
    for line in range(5):
        order = rng.permutation(15)
        first[line, order[n_known:]] = np.nan
        second[line, order[n_known : n_known + 2]] = np.nan
    found = agreement(first, second)
    if n_known < _FEWEST_PAIRS:
        assert np.isnan(found).all()
        return
    known = np.isfinite(first)
    expected = [spearmanr(a[k], b[k]).statistic for a, b, k in zip(first, second, known, strict=True)]
    assert found == pytest.approx(expected)


def test_ranks_have_mean_zero_and_length_one_and_ties_share_theirs():
    values = np.array([[3.0, 1.0, 1.0 + 1e-15, np.nan, 7.0], [5.0, 5.0, 5.0, np.nan, np.nan]])
    found = centred_ranks(values)
    ranks = rankdata([3, 1, 1, 7]) - 2.5
    assert found[0, [0, 1, 2, 4]] == pytest.approx(ranks / np.linalg.norm(ranks))
    assert found[0, 3] == 0 or np.isnan(found[0, 3])
    # Equal values have no order.
    assert not np.isfinite(found[1]).any() or not found[1].any()
