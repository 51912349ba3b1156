"""Rankings of many rows: sampled pairs and resamples by influence agree with all pairs, ranked again."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from shesha import Rdm, rank_models
from shesha.ranking import resampling
from shesha.ranking.rank_models import _check_problem
from shesha.ranking.resampling import fewer_rows

FEW = {"n_resamples": 100, "n_permutations": 19}


def case(n, n_subjects=1, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.standard_normal((n, 8)) @ rng.standard_normal((8, 24))
    models = {name: truth + spread * rng.standard_normal((n, 24)) for name, spread in (("near", 1), ("far", 4))}
    subjects = truth + 2 * rng.standard_normal((n_subjects, n, 24))
    return (subjects if n_subjects > 1 else subjects[0]), models


def widths(found):
    return np.array([*(one.high - one.low for one in found), found.pairs[0].high - found.pairs[0].low])


@pytest.mark.parametrize("n_subjects", [1, 3])
@pytest.mark.parametrize("measure", ["RSA", "RSA(metric=euclidean, method=pearson)"])
def test_influence_stands_in_for_ranking_again(monkeypatch, measure, n_subjects):
    data, models = case(100, n_subjects)
    again = rank_models(data, models, measure, **FEW)
    monkeypatch.setattr(resampling, "RANKED_AGAIN", 0)
    found = rank_models(data, models, measure, **FEW)
    assert [one.value for one in found] == [one.value for one in again]
    np.testing.assert_allclose(widths(found), widths(again), rtol=0.06)
    assert rank_models(data, models, measure, pairs="all", **FEW).models == again.models


@pytest.mark.parametrize("seed", range(2))
def test_sampled_pairs_are_within_their_error_of_all(seed):
    data, models = case(400, 3, seed)
    found = rank_models(data, models, pairs=20_000, seed=seed, **FEW)
    every = rank_models(data, models, seed=seed, **FEW)
    for one in every:
        # The influence of a pair on a correlation is at most about one.
        assert found[one.name].value == pytest.approx(one.value, abs=4 / np.sqrt(20_000))
    ceilings = ((one.ceiling_lower, one.ceiling_upper) for one in (found, every))
    assert next(ceilings) == pytest.approx(next(ceilings), abs=4 / np.sqrt(20_000))
    assert "20,000 random pairs of the 79,800 pairs of rows" in found.notes[0]
    assert "from 200 random rows" in found.notes[0]
    # The sampling of pairs widens intervals, never narrows them much.
    assert (widths(found) > 0.8 * widths(every)).all()


def test_pairs_of_features_and_of_their_distances_are_the_same():
    data, models = case(60, 2)
    options = {"measure": "RSA(metric=euclidean)", "pairs": 500, **FEW}
    found = rank_models(data, models, **options)
    known = rank_models([Rdm(pdist(one)) for one in data], {k: Rdm(pdist(v)) for k, v in models.items()}, **options)
    assert [one.value for one in found] == pytest.approx([one.value for one in known])


@pytest.mark.parametrize(("size", "block"), [(1, 150), (3, 150), (50, 150), (1, 2), (3, 6)])
def test_fewer_rows_keep_groups_exchangeable(size, block):
    n = 300
    data, models = case(n)
    problem = _check_problem(data, models, "RSA", np.arange(n) // size, np.arange(n) // block, 0)
    fewer = fewer_rows(problem, 1_000, np.random.default_rng(0))
    assert fewer.n_rows <= 45
    assert all(len(units) > 1 for units in fewer.design.unit_arrays)
    assert fewer.design.log_count >= np.log(20)


def test_pairs_are_for_correlated_distances():
    data, models = case(30)
    with pytest.raises(ValueError, match="pairs must be left out, because CKA does not correlate distances"):
        rank_models(data, models, "CKA", pairs=200, **FEW)
