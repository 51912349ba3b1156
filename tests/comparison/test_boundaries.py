"""Parts of a comparison at their limits: names, widths, sizes of groups, intervals, and sums."""

import math

import numpy as np
import pytest

import shesha
from shesha import Moments
from shesha.comparison.engine import Evidence
from shesha.comparison.moment_scores import jackknife_variance, kernel_sums
from shesha.comparison.unit_matching import _activity_classes
from shesha.comparison.within_classes import _LabelledRows
from shesha.measures import get
from shesha.moments import LayerMoments, SummedRepresentation, merge_all
from shesha.nulls import exchange


def test_reasons_name_layers_as_they_are_called():
    rng = np.random.default_rng(0)
    good, constant = rng.standard_normal((20, 4)), np.ones((20, 4))
    found = shesha.compare_layers({"one": good, "two": constant}, {"three": good, "four": constant}, "CKA")
    reasons = {(pair.first, pair.second): pair.reason for pair in found.scores}
    assert set(reasons) == {("one", "three"), ("one", "four"), ("two", "three"), ("two", "four")}
    assert reasons["one", "three"] == ""
    assert reasons["two", "three"].startswith("two: ")
    assert reasons["one", "four"].startswith("four: ")


def evidence(n=40, **design):
    return Evidence.draw_subsets(exchange(n, **design), 0.05, 0.95, 0)


@pytest.fixture
def score():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((2, 40, 4))
    return shesha.compare(X, Y, "CKA")["CKA"]


def test_a_value_that_no_subset_changes_has_an_interval_of_no_width(score):
    own = evidence()
    same = own.add_interval(score, np.full(len(own.subsets), score.value))
    assert same.low == same.high == score.value
    other = own.add_interval(score, np.full(len(own.subsets), score.value + 0.1))
    assert math.isnan(other.low)
    assert "on every random subset of the rows" in other.notes[0]


def test_an_interval_needs_values_on_most_subsets(score):
    own = evidence()
    values = score.value + 0.05 * np.random.default_rng(1).standard_normal(len(own.subsets))
    known = own.add_interval(score, values)
    assert known.low < score.value < known.high
    values[: len(values) // 2 + 1] = np.nan
    few = own.add_interval(score, values)
    assert math.isnan(few.low)
    assert "random subsets of the rows have a value" in few.notes[0]


def test_an_interval_wider_than_what_it_estimates_is_none(score):
    own = evidence()
    values = score.value + 0.05 * np.random.default_rng(1).standard_normal(len(own.subsets))
    known = own.add_interval(score, values)
    width = known.high - known.low
    assert own.add_interval(score, values, (0.0, 1.001 * width)) == known
    assert "no interval: the width would be" in own.add_interval(score, values, (0.0, 0.999 * width)).notes[0]


def test_few_groups_have_no_interval(score):
    for n_groups, known in ((4, False), (20, True)):
        own = evidence(groups=np.arange(40) % n_groups)
        values = score.value + 0.05 * np.random.default_rng(1).standard_normal(len(own.subsets))
        assert (own.add_interval(score, values).low == pytest.approx(score.value, abs=1)) is known


@pytest.mark.parametrize("unbiased", [False, True])
def test_sums_of_one_side_are_those_of_its_kernel_matrix(unbiased):
    rng = np.random.default_rng(0)
    n, X = 30, rng.standard_normal((30, 4)) * [1, 2, 3, 0.1] + 5
    moments = Moments.of(X, rng.standard_normal((30, 3)))
    sums = merge_all(moments.parts())
    found = kernel_sums(sums, 0, unbiased)
    centred = X - X.mean(axis=0)
    kernel = centred @ centred.T / sums.sides[0].unit ** 2
    if unbiased:
        # Song et al. 2012, eq. 5, without the diagonal, times n (n - 3).
        without = kernel - np.diag(np.diag(kernel))
        ones = np.ones(n)
        expected = np.trace(without @ without) + (ones @ without @ ones) ** 2 / ((n - 1) * (n - 2))
        expected -= 2 / (n - 2) * (ones @ without @ without @ ones)
    else:
        expected = (kernel**2).sum()
    assert found.squared_norm == pytest.approx(expected)
    assert found.trace == pytest.approx(np.trace(kernel))
    assert found.squared_diagonal == pytest.approx((np.diag(kernel) ** 2).sum())
    side = SummedRepresentation(sums, 0, moments.precision(0))
    own = get("unbiased CKA" if unbiased else "CKA").look(side)
    assert own.norm**2 == pytest.approx(expected)


def test_the_jackknife_of_a_mean_is_its_squared_error():
    """Leaving out one row at a time: variance of the rows divided by their number."""
    rows = np.random.default_rng(0).standard_normal(12)
    without = (rows.sum() - rows) / 11
    assert jackknife_variance(rows.mean(), without, np.ones(12)) == pytest.approx(rows.var(ddof=1) / 12)


def test_the_jackknife_of_unequal_groups_is_that_of_busing():
    rng = np.random.default_rng(1)
    sizes, value, without = np.array([2, 5, 3, 10]), 0.4, rng.random(4)
    n, g = sizes.sum(), len(sizes)
    mean = g * value - sum((1 - m / n) * w for m, w in zip(sizes, without, strict=True))
    total = 0.0
    for m, w in zip(sizes, without, strict=True):
        h = n / m
        total += (h * value - (h - 1) * w - mean) ** 2 / (h - 1)
    assert jackknife_variance(value, without, sizes) == pytest.approx(total / g)


@pytest.mark.parametrize(("n_units", "n_classes"), [(1, 1), (99, 1), (100, 2), (999, 19), (1000, 20), (3000, 20)])
def test_classes_of_activity_have_at_least_fifty_units(n_units, n_classes):
    # Unit k is active in k + 1 rows.
    active = np.tri(n_units)
    classes = _activity_classes(active)
    counts = np.bincount(classes)
    assert len(counts) == n_classes
    assert n_units < 50 or counts.min() >= 49
    assert (np.diff(classes[np.argsort(active.sum(axis=0))]) >= 0).all()


def test_units_of_equal_activity_are_in_one_class():
    active = np.zeros((10, 400))
    active[:3] = 1
    active[:5, 200:] = 1
    classes = _activity_classes(active)
    assert len(set(classes[:200])) == len(set(classes[200:])) == 1
    assert classes[0] < classes[-1]


def test_equal_matches_are_in_the_order_of_the_first_units():
    X = np.random.default_rng(0).standard_normal((60, 8))
    order = [3, 0, 7, 1, 6, 2, 5, 4]
    found = shesha.match_units(X, X[:, order])
    assert found.first == tuple(range(8))
    assert [order[j] for j in found.second] == list(range(8))
    assert found.n_candidates == 5
    assert found == shesha.match_units(X, X[:, order], seed=0)


def test_groups_of_a_class_count_from_their_smallest_size():
    sizes = [2, 3, 3, 4]
    group = np.repeat(["a", "b", "c", "d"], sizes).astype(object)
    inside = np.ones(12, dtype=bool)

    def strata(min_group):
        sides = (np.zeros((12, 1)), np.zeros((12, 1)))
        classes = np.where(inside, "one", "other").astype(object)
        parts, reason = _LabelledRows(sides, classes, None, group).strata("one", 5, min_group, 0.5)
        return (parts[0] if parts else []), reason

    rows, reason = strata(3)
    assert reason == ""
    assert sorted(group[rows]) == ["b"] * 3 + ["c"] * 3 + ["d"] * 3
    assert strata(4)[1] == "1 group with at least 4 rows, fewer than 3"
    inside[-2:] = False
    assert strata(3)[1] == "2 groups with at least 3 rows, fewer than 3"
    assert sorted(group[strata(2)[0]]) == sorted([*"aabbccdd"])


def test_rows_without_a_block_take_no_part_and_blocks_are_compared_apart():
    block = np.array(["x", None, "x", "y", "y", "z"], dtype=object)
    rows = _LabelledRows((np.zeros((6, 1)),) * 2, np.array(["a"] * 6, dtype=object), block, None)
    parts, reason = rows.strata("a", 2, 2, 0.05)
    assert ([part.tolist() for part in parts], reason) == ([[0, 2], [3, 4]], "")
    lacking = "2 rows in its largest block, fewer than 3, and 1 of its 6 have no value of blocks or groups"
    assert rows.strata("a", 3, 2, 0.05)[1] == lacking


def test_classes_of_just_enough_rows_are_compared():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((2, 41, 4))
    types = np.repeat(["a", "b"], [21, 20])
    found = shesha.compare_within(X, Y, types, "RSA", min_rows=20, n_permutations=19)
    assert found.excluded == {}
    assert shesha.compare_within(X, Y, types, "RSA", min_rows=21, n_permutations=19).excluded == {
        "b": "20 rows, fewer than 21"
    }
    for name, least in (("min_rows", 5), ("min_group", 2)):
        with pytest.raises(ValueError, match=f"{name} must be at least {least}"):
            shesha.compare_within(X, Y, types, "RSA", **{name: least - 1})
        shesha.compare_within(X, Y, types, "RSA", n_permutations=19, **{name: least})


@pytest.mark.parametrize("name", ["CKA", "unbiased CKA"])
def test_the_null_of_layers_is_that_of_the_pair_alone(name):
    rng = np.random.default_rng(0)
    first, second = ({f"{side}{k}": rng.standard_normal((300, 5 + k)) for k in range(2)} for side in "ab")
    moments = LayerMoments()
    moments.update(first, second)
    for pair in shesha.compare_layers(moments, name).scores:
        alone = shesha.compare(Moments.of(first[pair.first], second[pair.second]), name, calibrate=True)[name]
        for field in ("value", "chance", "chance_sd", "threshold", "p_value"):
            assert getattr(pair, field) == pytest.approx(getattr(alone, field), abs=1e-12), field
