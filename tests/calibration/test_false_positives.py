"""Where there is no relation, p-values are small no more often than they may be; where there is one, they are.

What this guards against: a null from another kernel than the observed value, ties that row numbers break on both sides,
views of permuted rows that differ from relabelled ones, and rows exchanged that are not exchangeable.
"""

import numpy as np
import pytest
from scipy.stats import binom

import shesha.measures as measures
from shesha import CalibrationWarning, NotEstimableWarning, calibrate
from shesha.calibration import single_pair
from shesha.results import Doubts

pytestmark = [
    pytest.mark.filterwarnings("ignore:(saturated|few rows|p-values of this design may):shesha.CalibrationWarning"),
    # Two codes of one feature per row have the same rows in another order.
    pytest.mark.filterwarnings("ignore:Y seems to contain the rows of X in another order:shesha.RowNamesWarning"),
]

ALPHA = 0.05
N = 32
WARN = single_pair.warn_of_dependence
PAIRED = [name for name in measures.names() if measures.get(name).paired and name != "sampled CKA"]
"""Features drawn apart, as here, have no sampled CKA; it is tried below with features that share something."""
NEIGHBOURS = [name for name in PAIRED if measures.get(name).family == "neighbours"]
COSTLY = {"QSI", "PermProc", "RSMDiff", "RTD", "2nd-Cos", "CKNNA", "linear predictivity"}
SPANNED = {"CCA", "PWCCA"}
"""Without a value where the features span all that centred rows can."""
SATURATED = {"LinReg", "GULP", "EOS"}
"""The same for all data there, so that nothing can be above chance."""
STEPS = {"RTD", "CKNNA", *NEIGHBOURS}
"""Values that two draws may share: p-values are then on the large side."""


@pytest.fixture(autouse=True)
def only_the_test(monkeypatch):
    """Leave out threads and the checks of the data, which take longer than the draws and change no p-value."""
    monkeypatch.setenv("SHESHA_THREADS", "1")
    monkeypatch.setattr(single_pair, "find_pair_doubts", lambda *_, **__: Doubts(()))
    monkeypatch.setattr(single_pair, "warn_of_dependence", lambda *_, **__: None)


def gaussian(rng, d):
    return rng.standard_normal((2, N, d))


def heavy_tailed(rng, d):
    return rng.standard_t(3, (2, N, d))


def one_hot(rng, d):
    return np.eye(d)[rng.integers(d, size=(2, N))]


def few_values(rng, d):
    return rng.integers(1, 4, (2, N, d)).astype(float)


def p_values(make, measure, runs, n_permutations=39, **options):
    found = []
    for k in range(runs):
        X, Y = make(np.random.default_rng([21, k]))
        found.append(calibrate(X, Y, measure, n_permutations=n_permutations, seed=k, **options).p_value)
    return np.array(found)


def freely(make, measure, runs, n_permutations=39, **options):
    """The same for rows that depend on one another, which is told."""
    with (
        pytest.MonkeyPatch.context() as patch,
        pytest.warns(CalibrationWarning, match="consecutive rows are closer than random rows"),
    ):
        patch.setattr(single_pair, "warn_of_dependence", WARN)
        return p_values(make, measure, runs, n_permutations, **options)


def interval(runs, level):
    """Numbers of p-values up to the level that a valid test gives in 999 of 1000 repetitions."""
    return binom.ppf([0.0005, 0.9995], runs, level)


def hits(found, level=ALPHA):
    return np.count_nonzero(found <= level)


def assert_level_kept(found, *, continuous):
    for level in (ALPHA, 0.5):
        low, high = interval(len(found), level)
        assert hits(found, level) <= high
        # A test that never finds anything would keep its level as well.
        assert hits(found, level) >= low or not continuous


@pytest.mark.parametrize("name", PAIRED)
def test_unrelated_gaussian_features(small, name):
    runs, draws = (25, 19) if name in COSTLY else (60, 19)
    found = p_values(lambda rng: gaussian(rng, 8), small(name), runs, draws)
    assert_level_kept(found, continuous=name not in STEPS)


@pytest.mark.parametrize("name", [name for name in PAIRED if name not in SPANNED])
def test_unrelated_gaussian_features_in_more_dimensions_than_rows(small, name):
    runs = 20 if name in COSTLY else 40
    found = p_values(lambda rng: gaussian(rng, 48), small(name), runs, 19)
    if name in SATURATED:
        assert found.tolist() == [1.0] * runs
    else:
        assert_level_kept(found, continuous=name not in STEPS)


# The study false-positives measures these two of every measure as well, among other kinds of rows.
@pytest.mark.slow
@pytest.mark.parametrize("name", PAIRED)
def test_unrelated_heavy_tailed_features(small, name):
    runs = 40 if name in COSTLY else 80
    found = p_values(lambda rng: heavy_tailed(rng, 8), small(name), runs, 19)
    assert_level_kept(found, continuous=name not in STEPS)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in PAIRED if name not in SPANNED | SATURATED | COSTLY])
def test_unrelated_heavy_tailed_features_in_more_dimensions_than_rows(small, name):
    found = p_values(lambda rng: heavy_tailed(rng, 48), small(name), 40, 19)
    assert_level_kept(found, continuous=name not in STEPS)


def test_unrelated_samples_of_features():
    found = p_values(lambda rng: gaussian(rng, 12) + rng.standard_normal((2, N, 1)), "sampled CKA", 100, 39)
    assert_level_kept(found, continuous=True)


@pytest.mark.parametrize("name", [name for name in NEIGHBOURS if name != "2nd-Cos"])
@pytest.mark.parametrize("make", [lambda rng: one_hot(rng, 4), lambda rng: few_values(rng, 5)], ids=["one-hot", "few"])
def test_unrelated_rows_with_ties_do_not_agree_in_how_they_are_broken(small, name, make):
    found = p_values(make, small(name), 60, 19)
    assert_level_kept(found, continuous=False)


def test_unrelated_rows_with_ties_and_directions(small):
    """Rows that equal all their neighbours have no second-order cosine, but these do not."""
    found = p_values(lambda rng: few_values(rng, 5), small("2nd-Cos"), 60, 19)
    assert_level_kept(found, continuous=False)


def codes(rng):
    return np.stack([np.eye(60)[rng.permutation(60)] for _ in range(2)])


@pytest.mark.parametrize("name", ["CKA", "OrthProc", "mutual kNN", "HardCorr"])
def test_unrelated_codes_of_one_feature_per_row(small, name):
    """All rows are equally far apart, so there is nothing to find."""
    assert_level_kept(p_values(codes, small(name), 40, 19), continuous=False)


def test_unrelated_codes_do_not_agree_in_which_directions_are_kept():
    assert_level_kept(p_values(codes, "PWCKA", 40, 19, variance=0.9), continuous=False)


def test_equal_singular_values_stay_together():
    """All directions of a code are alike, so none can be left out; with all of them SVCCA has no value."""
    with pytest.warns(NotEstimableWarning, match="canonical correlations are all 1"):
        found = calibrate(*codes(np.random.default_rng(0)), "SVCCA", components=0.9, n_permutations=19)
    assert np.isnan(found.p_value)


CLUSTER = np.repeat(np.arange(8), 4)


def in_sessions(rng):
    """Rows of a block share an offset, and X and Y share the blocks' offsets."""
    common = rng.standard_normal((8, 6))[CLUSTER]
    return common + rng.standard_normal((N, 6)), common + rng.standard_normal((N, 6))


def in_trials(rng):
    """Rows of a group are alike, in X and in Y, but the groups of X have nothing to do with those of Y."""
    own = rng.standard_normal((2, 8, 6))[:, CLUSTER]
    return own + 0.5 * rng.standard_normal((2, N, 6))


@pytest.mark.parametrize("name", ["CKA", "RSA", "mutual kNN", "OrthProc"])
def test_offsets_that_blocks_share_are_chance_within_blocks_only(small, name):
    runs = 60
    within = p_values(in_sessions, small(name), runs, 19, blocks=CLUSTER)
    assert_level_kept(within, continuous=name not in STEPS)
    assert hits(freely(in_sessions, small(name), runs, 19)) > 3 * interval(runs, ALPHA)[1]


@pytest.mark.parametrize("name", ["CKA", "RSA", "mutual kNN", "OrthProc"])
def test_rows_that_depend_on_one_another_are_exchanged_in_groups_only(small, name):
    runs = 60
    whole = p_values(in_trials, small(name), runs, 19, groups=CLUSTER)
    assert_level_kept(whole, continuous=name not in STEPS)
    assert hits(freely(in_trials, small(name), runs, 19)) > 3 * interval(runs, ALPHA)[1]


def test_groups_of_several_sizes_keep_the_level():
    sizes = np.repeat(np.arange(12), [2, 3] * 6)

    def make(rng):
        own = rng.standard_normal((2, 12, 6))[:, sizes]
        return own + 0.5 * rng.standard_normal((2, len(sizes), 6))

    assert_level_kept(p_values(make, "CKA", 100, 19, groups=sizes), continuous=True)


def test_groups_within_blocks_keep_the_level():
    block, group = np.repeat(np.arange(3), 16), np.repeat(np.arange(12), 4)

    def make(rng):
        common = rng.standard_normal((3, 6))[block]
        own = rng.standard_normal((2, 12, 6))[:, group]
        return common + own + 0.3 * rng.standard_normal((2, len(block), 6))

    assert_level_kept(p_values(make, "CKA", 100, 19, blocks=block, groups=group), continuous=True)
    assert hits(freely(make, "CKA", 60, 19)) > 2 * interval(60, ALPHA)[1]
    for given in ({"blocks": block}, {"groups": group}):
        assert hits(p_values(make, "CKA", 60, 19, **given)) > 2 * interval(60, ALPHA)[1]


TOKENS, INPUT = 5, np.repeat(np.arange(16), 5)


def tokens(rng):
    """Tokens of an input are alike; the inputs of X have nothing to do with those of Y."""
    return rng.standard_normal((2, 16, 1, 8)) + 0.5 * rng.standard_normal((2, 16, TOKENS, 8))


@pytest.mark.parametrize("name", ["CKA", "RSA", "mutual kNN"])
def test_tokens_keep_the_level_only_with_their_input(small, name):
    """Why tokens are refused as rows: as rows of their own they are above chance nearly always."""

    def as_rows(rng):
        return tokens(rng).reshape(2, 16 * TOKENS, 8)

    assert_level_kept(p_values(as_rows, small(name), 60, 19, groups=INPUT), continuous=name not in STEPS)
    assert_level_kept(p_values(lambda rng: tokens(rng).mean(axis=2), small(name), 60, 19), continuous=False)
    assert hits(freely(as_rows, small(name), 20, 19)) >= 18


def low_rank(rng, d=8):
    """Two factors that X and Y share, in the same features, as those that match features need them."""
    signal = rng.standard_normal((N, 2)) @ rng.standard_normal((2, d))
    return signal + 0.5 * rng.standard_normal((2, N, d))


@pytest.mark.parametrize("name", PAIRED)
def test_a_shared_low_rank_signal_is_found(small, name):
    found = p_values(low_rank, small(name), 5, 19)
    assert np.median(found) == 1 / 20


# SVCCA keeps nearly all directions there, and they span nearly everything.
@pytest.mark.parametrize("name", [name for name in PAIRED if name not in SPANNED | SATURATED | {"SVCCA"}])
def test_a_shared_low_rank_signal_is_found_in_more_dimensions_than_rows(small, name):
    found = p_values(lambda rng: low_rank(rng, 48), small(name), 3, 19)
    assert np.median(found) == 1 / 20


@pytest.mark.parametrize("given", ["blocks", "groups"])
def test_a_signal_is_found_under_restricted_permutations(given):
    assert np.median(p_values(low_rank, "CKA", 5, 19, **{given: CLUSTER})) == 1 / 20
