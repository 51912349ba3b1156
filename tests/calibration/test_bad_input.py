"""What cannot be calibrated is refused in words."""

import numpy as np
import pytest

import shesha.measures as measures
from shesha import NotEstimableWarning, Rdm, calibrate, calibrate_layers, compare_all
from shesha.calibration import DrawError, benjamini_hochberg, holm

UNPAIRED = [name for name in measures.names() if not measures.get(name).paired]


K = 19


def test_rows_that_are_not_paired_are_refused(pair):
    X, Y = pair
    with pytest.raises(ValueError, match=r"Y must have as many rows as X \(40\), got 39"):
        calibrate(X, Y[1:], n_permutations=K)
    with pytest.raises(ValueError, match=r"Y must have as many rows as X \(40\), got 39"):
        calibrate(X, Y[1:], lambda a, b: 0.0, n_permutations=K)
    with pytest.raises(ValueError, match=r"equal numbers of rows, got layers_a\[0\] \(40\), layers_a\[1\] \(39\)"):
        calibrate_layers([X, X[1:]], [Y], n_permutations=K)
    with pytest.raises(ValueError, match=r"equal numbers of rows, got one.npz\[0\] \(40\), two.npz\[0\] \(39\)"):
        calibrate_layers([X], [Y[1:]], lambda a, b: 0.0, n_permutations=K, names=("one.npz", "two.npz"))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_rows_that_are_not_finite_are_refused(pair, bad):
    X, Y = pair[0].copy(), pair[1]
    X[3, 1] = bad
    for measure in ("CKA", lambda a, b: 0.0):
        with pytest.raises(ValueError, match="X must be finite, got NaN or infinity in rows 3"):
            calibrate(X, Y, measure, n_permutations=K)
    with pytest.raises(ValueError, match=r"layers_a\['late'\] must be finite, got NaN or infinity in rows 3"):
        calibrate_layers({"late": X}, [Y], n_permutations=K)


def test_tokens_and_positions_as_rows_are_refused(rng):
    tokens, maps = rng.standard_normal((2, 12, 5, 4)), rng.standard_normal((2, 12, 4, 3, 3))
    for sides, name in ((tokens, "CKA"), (tokens, "mutual kNN"), (maps, "CCA")):
        with pytest.raises(ValueError, match=r"must have one row per input to be calibrated by .*, got tokens"):
            calibrate(*sides, name, n_permutations=K)
    # Only relations between inputs matter here, so positions can be features.
    assert calibrate(*maps, "CKA", n_permutations=K, seed=0).n_rows == 12


@pytest.mark.parametrize("name", ["CKA", "RSA", "mutual kNN", "OrthProc"])
def test_layers_of_tokens_as_rows_are_refused(rng, name):
    tokens = rng.standard_normal((2, 12, 5, 4))
    with pytest.raises(ValueError, match="one row per input"):
        calibrate_layers([tokens[0]], [tokens[1]], name, n_permutations=K)


@pytest.mark.parametrize("n_permutations", [0, -3])
def test_no_permutations_are_refused(either, n_permutations):
    with pytest.raises(ValueError, match=f"n_permutations must be at least 1, got {n_permutations}"):
        either(n_permutations=n_permutations)


@pytest.mark.parametrize("n_permutations", [19.0, "19", True, None])
def test_numbers_of_permutations_that_are_not_counts_are_refused(either, n_permutations):
    with pytest.raises(TypeError, match="n_permutations must be an integer"):
        either(n_permutations=n_permutations)


@pytest.mark.parametrize(("alpha", "least"), [(0.05, 19), (0.01, 99), (0.1, 9), (0.3, 3)])
def test_too_few_permutations_ever_to_reach_alpha_are_refused(either, alpha, least):
    said = f"n_permutations must be at least 1 / alpha - 1 = {1 / alpha - 1:.6g}, got {least - 1}"
    with pytest.raises(ValueError, match=said):
        either(n_permutations=least - 1, alpha=alpha)
    assert either(n_permutations=least, alpha=alpha).n_draws == least


@pytest.mark.parametrize("alpha", [0, 1, -0.1, 1.5, float("nan")])
def test_levels_outside_zero_and_one_are_refused(either, alpha):
    with pytest.raises(ValueError, match=r"alpha must be in \(0, 1\), got"):
        either(alpha=alpha)


@pytest.mark.parametrize("alpha", ["0.05", None, True])
def test_levels_that_are_not_numbers_are_refused(either, alpha):
    with pytest.raises(TypeError, match="alpha must be a number"):
        either(alpha=alpha)


def test_given_permutations_of_another_shape_are_refused(either):
    said = r"permutations must be integers of shape \(n_permutations, 40\), got shape "
    rows = np.arange(40)
    for wrong, shape in ((rows, r"\(40,\)"), (np.tile(rows[:39], (K, 1)), r"\(19, 39\)"), (np.empty((0, 40), int), "")):
        with pytest.raises(ValueError, match=said + shape):
            either(permutations=wrong)
    with pytest.raises(ValueError, match="permutations must be integers"):
        either(permutations=np.tile(rows, (K, 1)).astype(float))


def test_given_orders_that_are_no_permutations_are_refused(either):
    orders = np.tile(np.arange(40), (K, 1))
    orders[[2, 5], 7] = [3, 40]
    with pytest.raises(
        ValueError,
        match="permutations must contain every row number once in each line, got other numbers in lines 2, 5",
    ):
        either(permutations=orders)


def test_too_few_given_permutations_are_refused(either):
    with pytest.raises(ValueError, match="n_permutations must be at least 1 / alpha - 1 = 19, got 18"):
        either(permutations=np.tile(np.arange(40), (18, 1)))


@pytest.mark.parametrize("given", ["blocks", "groups"])
def test_given_permutations_come_alone(either, given):
    orders = np.tile(np.arange(40), (K, 1))
    with pytest.raises(ValueError, match=f"permutations must be used without a design, got also {given}"):
        either(permutations=orders, **{given: np.arange(40) % 4})


def test_blocks_of_one_row_each_leave_one_permutation(either):
    said = r"must leave at least 1 / alpha = 20 distinct permutations, got 1 \(within blocks\); use larger blocks"
    with pytest.raises(ValueError, match=said):
        either(blocks=np.arange(40))


def test_too_few_distinct_permutations_are_counted(either):
    """Four pairs of rows can be exchanged: 16 permutations do not reach 0.05, but they reach 0.1."""
    blocks = np.concatenate([np.repeat(np.arange(4), 2), np.arange(4, 36)])
    with pytest.raises(ValueError, match=r"at least 1 / alpha = 20 distinct permutations, got 16 \(within blocks\)"):
        either(blocks=blocks)
    assert either(blocks=blocks, alpha=0.1).exchanged == "within blocks"


def test_groups_of_unequal_sizes_cannot_take_each_others_place(pair):
    X, Y = pair[0][:36], pair[1][:36]
    sizes = np.repeat(np.arange(8), np.arange(1, 9))
    with pytest.raises(ValueError, match=r"distinct permutations, got 1 \(whole groups\); .*groups of equal size"):
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


@pytest.mark.parametrize("given", ["blocks", "groups"])
def test_labels_of_rows_must_fit_the_rows(either, given):
    with pytest.raises(ValueError, match=f"{given} must have one label for each of the 40 rows, got 39"):
        either(**{given: np.zeros(39)})
    with pytest.raises(ValueError, match=f"{given} must be 1-D"):
        either(**{given: np.zeros((40, 1, 1))})


@pytest.mark.parametrize(
    "labels", [["b", "a"] * 20, [2.5, -1.0] * 20, [True, False] * 20], ids=["text", "float", "bool"]
)
def test_blocks_may_have_any_names(either, labels):
    assert either(blocks=labels).null == either(blocks=np.arange(40) % 2 == 0).null


@pytest.mark.parametrize("seed", [-1, 1.5, "0", True])
def test_seeds_that_are_none_are_refused(either, seed):
    with pytest.raises((TypeError, ValueError), match="seed must be"):
        either(seed=seed)


@pytest.mark.parametrize("name", UNPAIRED)
def test_measures_that_do_not_look_at_which_row_is_which_have_no_null(either, name):
    with pytest.raises(
        ValueError, match=f"measure must depend on the matching of rows, got {name}.*no permutation null"
    ):
        either(name)


def test_the_unpaired_measures_are_known():
    assert {"MagDiff", "ConcDiff", "UnifDiff", "IMD", "MMD"} < set(UNPAIRED)


def test_unknown_measures_and_options_are_refused(either):
    with pytest.raises(ValueError, match=r"measure must be one of .*CKA"):
        either("CKAA")
    with pytest.raises(ValueError, match="options of CKA must be among kernel, bandwidth, got k"):
        either("CKA", k=3)
    with pytest.raises(ValueError, match="options of RV must be among none, got kernel"):
        either("RV", kernel="rbf")
    with pytest.raises(ValueError, match="kernel must be one of"):
        either("CKA", kernel="cubic")
    with pytest.raises(TypeError, match="k must be an integer"):
        either("mutual kNN", k=2.5)
    with pytest.raises(TypeError, match="a measure must be given by name or as a marked function, got 3"):
        either(3)


def test_options_of_a_function_are_its_own(either):
    found = either(lambda a, b, *, power: float((a[:, :5] * b).sum()) ** power, power=1)
    assert found.options == {"power": 1}
    with pytest.raises(
        DrawError, match=r"failed in the observed pairing: TypeError: .*unexpected keyword argument 'k'"
    ):
        either(lambda a, b: 0.0, k=3)


@pytest.mark.parametrize("maximum", [float("nan"), float("inf"), "1"])
def test_maxima_that_are_no_numbers_are_refused(either, maximum):
    with pytest.raises((TypeError, ValueError), match="maximum must be"):
        either(maximum=maximum)


def test_distances_for_a_measure_that_needs_features_have_a_reason(pair):
    X, Y = pair
    D = Rdm(np.linalg.norm(Y[:, None] - Y, axis=-1))
    with pytest.warns(NotEstimableWarning, match="needs the features, got distances between rows"):
        found = calibrate(X, D, "CKA", n_permutations=K)
    assert np.isnan(found.value)
    assert found.reason == "needs the features, got distances between rows"


def test_layers_of_distances_for_a_measure_that_needs_features_are_refused(pair):
    X, Y = pair
    D = Rdm(np.linalg.norm(Y[:, None] - Y, axis=-1))
    with pytest.raises(ValueError, match="needs the features"):
        calibrate_layers([X], [D], "CKA", n_permutations=K)


@pytest.mark.parametrize("name", ["CKA", "mutual kNN", "OrthProc", "SVCCA"])
def test_data_without_a_score_give_nan_and_the_reason(pair, name):
    with pytest.warns(NotEstimableWarning, match="not estimable: all rows are equal"):
        found = calibrate(pair[0], np.ones((40, 3)), name, n_permutations=K, seed=0)
    numbers = [found.value, found.calibrated, found.p_value, found.threshold, found.z, found.adjusted, found.chance]
    assert np.isnan(numbers).all()
    assert not found.significant
    assert "all rows are equal" in found.reason
    assert str(found) == f"{found.name}: not estimable ({found.reason})"


def test_layers_without_a_score_are_refused(pair):
    X, Y = pair
    with pytest.raises(ValueError, match="must be suitable for CKA, got layer 1: all rows"):
        calibrate_layers([X, np.ones((40, 3))], [Y], n_permutations=K)
    with pytest.raises(ValueError, match="must have a score to be calibrated, got no score of CCA for 0 and 1"):
        calibrate_layers([X], [Y, np.random.default_rng(0).standard_normal((40, 50))], "CCA", n_permutations=K)


@pytest.mark.parametrize("none", [[], {}, ()])
def test_models_without_layers_are_refused(pair, none):
    with pytest.raises(ValueError, match="layers_a must contain at least one layer, got none"):
        calibrate_layers(none, [pair[1]], n_permutations=K)
    with pytest.raises(ValueError, match="layers_b must contain at least one layer, got none"):
        calibrate_layers([pair[0]], none, n_permutations=K)


def test_unknown_aggregates_are_refused(layered):
    with pytest.raises(ValueError, match="aggregate must be one of 'max', 'row_max', 'top_k', 'mean', got 'median'"):
        layered(aggregate="median")
    with pytest.raises(TypeError, match="aggregate must be a name or a function of the grid, got 3"):
        layered(aggregate=3)


@pytest.mark.parametrize(("aggregate", "shape"), [(lambda grid: grid.max(axis=1), r"\(1,\)"), (np.copy, r"\(1, 1\)")])
def test_an_aggregate_must_return_one_number(layered, aggregate, shape):
    with pytest.raises(ValueError, match=f"aggregate must return one number for a grid, got an array of shape {shape}"):
        layered(aggregate=aggregate)


def test_an_aggregate_cannot_change_the_grid(layered):
    def spoil(grid):
        value = float(grid.max())
        grid[:] = 0.0
        return value

    assert layered(aggregate=spoil).matrix().equals(layered().matrix())


@pytest.mark.parametrize("wrong", [(np.ones((5, 5)),), (1, 2, 3)])
def test_a_pair_must_be_two(wrong):
    with pytest.raises(TypeError, match=r"representations\['a'\] must be \(X, Y\), got "):
        compare_all({"a": wrong}, "CKA", calibrate=True, n_permutations=K)


def test_pairs_must_have_names_that_differ(pair):
    with pytest.raises(ValueError, match="representations must have distinct names as text, got 1, '1'"):
        compare_all({1: pair, "1": pair}, "CKA", calibrate=True, n_permutations=K)


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
