"""What may be exchanged reaches the nulls and the intervals of a comparison; functions of one's own take part."""

import numpy as np
import pytest

import shesha.measures as measures
from shesha import calibrate, compare, compare_all, compare_layers
from shesha.comparison.engine import draw_clusters, interval
from shesha.measures import as_measure

N = 60
GROUP = np.repeat(np.arange(12), 5)
DESIGNS = {
    "groups": {"groups": GROUP},
    "blocks": {"blocks": GROUP},
    "within": {"within": np.linspace(0, 1, N)},
    "shift": {"shift": True},
    "stretches": {"block_length": 6},
}


@pytest.fixture
def pair(rng):
    X = rng.standard_normal((N, 6))
    return X, X[:, :4] + rng.standard_normal((N, 4))


def product(X, Y):
    return float(np.linalg.norm(X.T @ Y))


@pytest.mark.parametrize("name", DESIGNS)
def test_the_null_is_one_of_the_design(pair, name):
    found = compare(*pair, "CKA", calibrate=True, n_permutations=199, **DESIGNS[name])
    direct = calibrate(*pair, "CKA", n_permutations=199, seed=0, **DESIGNS[name])
    assert found.exchanged == direct.exchanged
    score = found["CKA"]
    # Other draws of the same permutations.
    assert score.chance == pytest.approx(direct.chance, abs=4 * direct.chance_sd / np.sqrt(100))
    assert score.chance_sd == pytest.approx(direct.chance_sd, rel=0.5)
    assert (score.calibrated, score.value) == (score.calibrated, score.value)


def test_all_shifts_give_one_null_wherever_they_are_drawn(pair):
    found = compare(*pair, "CKA", calibrate=True, shift=True)["CKA"]
    direct = calibrate(*pair, "CKA", shift=True, seed=5)
    assert direct.n_draws == N - 1
    for field in ("chance", "chance_sd", "threshold", "calibrated", "p_value"):
        assert getattr(found, field) == pytest.approx(getattr(direct, field), abs=1e-12)


def test_given_permutations_are_used(pair, rng):
    orders = np.array([rng.permutation(N) for _ in range(39)])
    found, direct = compare(*pair, "CKA", calibrate=True, permutations=orders), calibrate(*pair, permutations=orders)
    assert (found.exchanged, found["CKA"].threshold) == ("as given", pytest.approx(direct.threshold))


def test_subsets_leave_out_whole_groups(rng):
    subsets = draw_clusters(GROUP, rng)
    for rows in subsets:
        kept = np.unique(GROUP[rows])
        assert len(kept) == 10 and np.array_equal(rows, np.flatnonzero(np.isin(GROUP, kept)))
    assert len({tuple(rows) for rows in subsets}) > 20


def test_intervals_over_groups_hold_the_mean_where_those_over_rows_do_not():
    """Rows of a group are alike: what varies between samples are the groups."""
    size, n_groups = 8, 12
    group = np.repeat(np.arange(n_groups), size)

    def sample(seed):
        rng = np.random.default_rng(seed)
        shared = rng.standard_normal((n_groups, 3))[group]
        return [shared + 0.2 * rng.standard_normal((len(group), 3)) + noise for noise in (0, rng.standard_normal(3))]

    def mixed(seed):
        X, Y = sample(seed)
        rng = np.random.default_rng([seed, 1])
        return X, Y + rng.standard_normal((n_groups, 3))[group]

    truth = np.mean([measures.cka(*mixed(1000 + k)) for k in range(300)])
    held = {"groups": 0, "rows": 0}
    for run in range(25):
        X, Y = mixed(run)
        permutations = np.array([np.roll(np.arange(len(X)), 8 * k) for k in range(1, 12)] * 2)
        for name, design in (("groups", {"groups": group}), ("rows", {"permutations": permutations})):
            score = compare(
                X, Y, "CKA", calibrate=True, confidence=0.9, n_permutations=19, seed=run, alpha=0.1, **design
            )["CKA"]
            held[name] += score.low <= truth <= score.high
    # At 90 % fewer than 18 of 25 come about once in 1,000 times.
    assert held["groups"] >= 18
    assert held["rows"] < held["groups"]


def test_few_groups_allow_no_interval_and_fewer_say_less(pair):
    found = compare(*pair, "CKA", calibrate=True, alpha=0.2, n_permutations=19, groups=GROUP // 3)["CKA"]
    assert not found.has_interval and "no interval: an interval needs at least 5 groups, got 4" in found.notes
    values = np.linspace(0, 1, 50)
    wide, narrow = (interval(0.5, values, (8, 10), 0.95, (-9, 9), clustered=one)[1] for one in (True, False))
    assert wide - 0.5 > 1.1 * (narrow - 0.5)


def test_a_function_of_ones_own_is_taken_wherever_a_measure_is(pair):
    X, Y = pair
    expected = product(X, Y)
    assert compare(X, Y, product)["product"].value == pytest.approx(expected)
    found = compare(X, Y, ["CKA", product], calibrate=True, n_permutations=39)["product"]
    direct = calibrate(X, Y, product, n_permutations=39, seed=0)
    assert found.value == pytest.approx(direct.value)
    assert found.chance == pytest.approx(direct.chance, rel=0.2)
    assert found.has_interval and found.closer == direct.closer == "higher"
    assert compare_all({"X": X, "Y": Y}, product).matrix("product").loc["Y", "X"] == pytest.approx(product(Y, X))
    assert compare_layers([X], [Y], product).matrix().loc["0", "0"] == pytest.approx(expected)


def test_a_function_cannot_change_the_data(pair):
    def spoils(X, Y):
        X[:] = Y[:] = 0
        return 1.0

    X, Y = pair
    before = X.copy()
    found = compare(X, Y, [spoils, product])
    assert np.array_equal(X, before)
    assert found["product"].value == pytest.approx(product(X, Y))


def test_one_rule_says_what_is_meant():
    assert as_measure("CKA") is as_measure(measures.cka) is as_measure(measures.get("CKA"))
    assert as_measure(product).function is product
    with pytest.raises(TypeError, match="a measure must be given by name or as a marked function, got 3"):
        as_measure(3)


def test_a_function_goes_to_other_processes_by_its_place():
    import pickle

    again = pickle.loads(pickle.dumps(as_measure(np.linalg.norm)))
    assert again.function is np.linalg.norm
    with pytest.raises(TypeError, match="must be a function in a module to go to another process, got <lambda>"):
        pickle.dumps(as_measure(lambda X, Y: 0.0))
