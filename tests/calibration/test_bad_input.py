"""What cannot be calibrated is refused in words."""

import numpy as np
import pytest

import shesha.measures as measures
from shesha import NotEstimableWarning, Rdm, calibrate, compare_all
from shesha.calibration import DrawError, benjamini_hochberg, holm

UNPAIRED = [name for name in measures.names() if not measures.get(name).paired]


K = 19


def test_tokens_and_positions_as_rows_are_refused(rng):
    tokens, maps = rng.standard_normal((2, 12, 5, 4)), rng.standard_normal((2, 12, 4, 3, 3))
    for sides, name in ((tokens, "CKA"), (tokens, "mutual kNN"), (maps, "CCA")):
        with pytest.raises(ValueError, match=r"must have one row per input to be calibrated by .*, got tokens"):
            calibrate(*sides, name, n_permutations=K)
    # Only relations between inputs matter here, so positions can be features.
    assert calibrate(*maps, "CKA", n_permutations=K, seed=0).n_rows == 12


@pytest.mark.parametrize(("alpha", "least"), [(0.05, 19), (0.01, 99), (0.1, 9), (0.3, 3)])
def test_too_few_permutations_ever_to_reach_alpha_are_refused(either, alpha, least):
    said = f"n_permutations must be at least 1 / alpha - 1 = {1 / alpha - 1:.6g}, got {least - 1}"
    with pytest.raises(ValueError, match=said):
        either(n_permutations=least - 1, alpha=alpha)
    assert either(n_permutations=least, alpha=alpha).n_draws == least


def test_given_orders_that_are_no_permutations_are_refused(either):
    orders = np.tile(np.arange(40), (K, 1))
    orders[[2, 5], 7] = [3, 40]
    with pytest.raises(
        ValueError,
        match="permutations must contain every row number once in each line, got other numbers in lines 2, 5",
    ):
        either(permutations=orders)


@pytest.mark.parametrize("given", ["blocks", "groups"])
def test_given_permutations_come_alone(either, given):
    orders = np.tile(np.arange(40), (K, 1))
    with pytest.raises(ValueError, match=f"permutations must be used without a design, got also {given}"):
        either(permutations=orders, **{given: np.arange(40) % 4})


def test_too_few_distinct_permutations_are_counted(either):
    """Four pairs of rows can be exchanged: 16 permutations do not reach 0.05, but they reach 0.1."""
    blocks = np.concatenate([np.repeat(np.arange(4), 2), np.arange(4, 36)])
    with pytest.raises(ValueError, match=r"at least 20 distinct permutations for p <= 0.05, got 16 \(within blocks\)"):
        either(blocks=blocks)
    assert either(blocks=blocks, alpha=0.1).exchanged == "within blocks"


def test_groups_of_unequal_sizes_cannot_take_each_others_place(pair):
    X, Y = pair[0][:36], pair[1][:36]
    sizes = np.repeat(np.arange(8), np.arange(1, 9))
    with pytest.raises(ValueError, match=r"p <= 0.05, got 1 \(whole groups\); .*groups of equal size"):
        calibrate(X, Y, groups=sizes, n_permutations=K)
    twice = np.repeat(np.arange(6), [5, 5, 5, 5, 8, 8])
    assert calibrate(X, Y, groups=twice, n_permutations=K, seed=0).exchanged == "whole groups"


def test_groups_of_several_sizes_are_exchanged_with_their_like():
    """Every draw moves whole groups, their rows in order, to places of groups as large."""
    X, Y = np.zeros((24, 1)), np.arange(24.0)[:, None]
    groups = np.repeat(np.arange(8), [2, 4] * 4)
    seen = []

    def watch(_, moved):
        seen.append(moved[:, 0].astype(int))
        return 0.0

    calibrate(X, Y, watch, groups=groups, n_permutations=60, seed=0)
    for order in seen:
        for group in range(8):
            source = order[groups == group]
            assert len(set(groups[source])) == 1
            assert np.array_equal(np.diff(source), np.ones(len(source) - 1))
            assert np.count_nonzero(groups == groups[source[0]]) == len(source)
    assert len({tuple(order) for order in seen}) > 50


def test_groups_across_blocks_are_refused(either):
    with pytest.raises(ValueError, match="groups must lie within blocks, got a group with rows in several blocks"):
        either(blocks=np.arange(40) // 20, groups=np.arange(40) % 10)


def test_groups_within_blocks_stay_in_them(either):
    found = either(blocks=np.arange(40) // 20, groups=np.arange(40) // 4)
    assert found.exchanged == "within blocks, whole groups"


@pytest.mark.parametrize("name", UNPAIRED)
def test_measures_that_do_not_look_at_which_row_is_which_have_no_null(either, name):
    with pytest.raises(
        ValueError, match=f"measure must depend on the matching of rows, got {name}.*no permutation null"
    ):
        either(name)


def test_options_of_a_function_are_its_own(either):
    found = either(lambda a, b, *, power: float((a[:, :5] * b).sum()) ** power, power=1)
    assert found.options == {"power": 1}
    with pytest.raises(
        DrawError, match=r"failed in the observed pairing: TypeError: .*unexpected keyword argument 'k'"
    ):
        either(lambda a, b: 0.0, k=3)


def test_distances_for_a_measure_that_needs_features_have_a_reason(pair):
    X, Y = pair
    D = Rdm(np.linalg.norm(Y[:, None] - Y, axis=-1))
    with pytest.warns(NotEstimableWarning, match="needs the features, got distances between rows"):
        found = calibrate(X, D, "CKA", n_permutations=K)
    assert np.isnan(found.value)
    assert found.reason == "needs the features, got distances between rows"


@pytest.mark.parametrize("name", ["CKA", "mutual kNN", "OrthProc", "SVCCA"])
def test_data_without_a_score_give_nan_and_the_reason(pair, name):
    with pytest.warns(NotEstimableWarning, match="not estimable: all rows are equal"):
        found = calibrate(pair[0], np.ones((40, 3)), name, n_permutations=K, seed=0)
    numbers = [found.value, found.calibrated, found.p_value, found.threshold, found.z, found.adjusted, found.chance]
    assert np.isnan(numbers).all()
    assert not found.significant
    assert "all rows are equal" in found.reason
    assert " ".join(str(found).split()) == f"{found.name}: not estimable ({found.reason})"


def test_an_aggregate_cannot_change_the_grid(layered):
    def spoil(grid):
        value = float(grid.max())
        grid[:] = 0.0
        return value

    assert layered(aggregate=spoil).matrix().equals(layered().matrix())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"correction": "bonferroni"}, "correction must be one of 'holm', 'benjamini-hochberg', got 'bonferroni'"),
        ({"confidence": 0.9, "store": "x"}, "confidence and store must be left out with named pairs"),
        ({"calibrate": False, "shift": True}, "calibrate must be True with shift, got False"),
    ],
)
def test_options_that_do_not_fit_named_pairs_are_refused(pair, options, message):
    with pytest.raises(ValueError, match=message):
        compare_all({"a": pair}, "CKA", **{"calibrate": True} | options)
    with pytest.raises(ValueError, match="correction must be left out unless pairs"):
        compare_all({"a": pair[0], "b": pair[1]}, "CKA", correction="holm")


@pytest.mark.parametrize("correct", [holm, benjamini_hochberg])
def test_what_are_no_p_values_is_refused(correct):
    with pytest.raises(ValueError, match=r"p_values must lie in \[0, 1\], got values outside"):
        correct([0.5, 1.5])
    with pytest.raises(ValueError, match=r"p_values must lie in \[0, 1\], got values outside"):
        correct([0.5, -0.1])
    with pytest.raises(ValueError, match=r"p_values must be 1-D, got shape \(2, 1\)"):
        correct([[0.5], [0.1]])
