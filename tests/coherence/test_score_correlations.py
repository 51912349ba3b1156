"""Correlations of scores over groups are rank correlations, beside those of null groups of the same sizes."""

from types import SimpleNamespace as Group

import numpy as np
import pytest
from scipy.stats import spearmanr

from shesha.coherence.coherence_by_group import links
from shesha.coherence.null_groups import NullGroupScores

K = 39


def drawn(n_groups, seed=0, n_ties=0):
    rng = np.random.default_rng(seed)
    groups = [Group(magnitude=a, coherence=b, value=c, has_null=True) for a, b, c in rng.standard_normal((n_groups, 3))]
    scores = rng.standard_normal((n_groups, K, 4))
    # Draws that equal the real scores count as extreme.
    for g, one in enumerate(groups):
        scores[g, :n_ties, :3] = one.coherence, one.value, one.magnitude
    return groups, tuple(scores)


@pytest.mark.parametrize("n_ties", [0, 3])
def test_links_are_rank_correlations_with_a_p_value_that_counts_the_real_one(n_ties):
    groups, scores = drawn(8, n_ties=n_ties)
    for link, name, column in zip(
        links(groups, NullGroupScores(scores, ("",) * 8, ""), K), ("coherence", "value"), (0, 1), strict=True
    ):
        rho = spearmanr([g.magnitude for g in groups], [getattr(g, name) for g in groups]).statistic
        chance = [spearmanr([s[k, 2] for s in scores], [s[k, column] for s in scores]).statistic for k in range(K)]
        assert link.value == pytest.approx(rho)
        assert link.chance == pytest.approx(np.mean(chance))
        assert (link.chance_low, link.chance_high) == pytest.approx(tuple(np.quantile(chance, [0.025, 0.975])))
        assert link.p_value == pytest.approx((1 + np.sum(np.array(chance) >= rho - 1e-9)) / (K + 1))


def test_it_takes_five_groups_with_as_many_draws():
    groups, scores = drawn(6)
    assert len(links(groups, NullGroupScores(scores, ("",) * 6, ""), K)) == 2
    assert len(links(groups, NullGroupScores((*scores[:5], scores[5][:3]), ("",) * 6, ""), K)) == 2
    assert links(groups, NullGroupScores((*scores[:4], scores[4][:3], scores[5][:3]), ("",) * 6, ""), K) == ()
    groups[0].has_null = groups[1].has_null = False
    assert links(groups, NullGroupScores(scores, ("",) * 6, ""), K) == ()
    assert links([], NullGroupScores((), (), ""), K) == ()
