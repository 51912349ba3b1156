"""AUPRC and conformity: against definitions by loops, scikit-learn, and laws."""

import math
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shesha_bench.measure_quality import auprc, conformity, groups

some = st.lists(st.integers(0, 5), min_size=1, max_size=8)


def twin_conformity(within, between):
    return sum(a > b for a in within for b in between) / (len(within) * len(between))


def twin_auprc(within, between):
    area = recall = 0.0
    for threshold in sorted({*within, *between}, reverse=True):
        hits = sum(value >= threshold for value in within)
        alarms = sum(value >= threshold for value in between)
        area += (hits / len(within) - recall) * hits / (hits + alarms)
        recall = hits / len(within)
    return area


@given(some, some)
def test_both_are_their_definitions(within, between):
    assert auprc(within, between, "higher").value == pytest.approx(twin_auprc(within, between), abs=1e-12)
    assert conformity(within, between, "higher").value == pytest.approx(twin_conformity(within, between), abs=1e-12)


@given(some, some, st.integers(0, 2**32 - 1))
def test_rounding_errors_do_not_decide_which_pair_is_closer(within, between, seed):
    rng = np.random.default_rng(seed)
    moved = [np.asarray(side) / 3 * (1 + 4e-16 * rng.standard_normal(len(side))) for side in (within, between)]
    for score in (auprc, conformity):
        assert score(*moved, "higher").value == score(within, between, "higher").value


@given(some, some)
def test_auprc_is_that_of_scikit_learn(within, between):
    known = pytest.importorskip("sklearn.metrics").average_precision_score
    labels = [1] * len(within) + [0] * len(between)
    assert auprc(within, between, "higher").value == pytest.approx(known(labels, within + between), abs=1e-12)


@pytest.mark.parametrize("score", [auprc, conformity])
@given(within=some, between=some)
def test_direction_and_monotone_maps_change_nothing(score, within, between):
    found = score(within, between, "higher")
    assert score(-np.array(within), -np.array(between), "lower") == found
    assert score(np.exp(within), np.exp(between), "higher") == found


@pytest.mark.parametrize("score", [auprc, conformity])
def test_perfect_and_missing(score):
    assert score([3, 4], [1, 2, 2], "higher").value == 1
    assert score([1, 2, np.nan], [3, np.nan], "lower") == score([1, 2], [3], "lower").__class__(1.0, 3, 2)
    empty = score([np.nan], [1.0], "higher")
    assert math.isnan(empty.value) and empty.reason == "no value within groups" and (empty.n, empty.dropped) == (1, 1)
    assert score([], [np.nan], "higher").reason == "no value within or between groups"
    with pytest.raises(ValueError, match="closer must be one of 'higher', 'lower', got 'nearer'"):
        score([1], [2], "nearer")


GROUPS = {"a": ["a0", "a1", "a2"], "b": ["b0", "b1"], "c": ["c0", "c1"]}
NAMES = [name for members in GROUPS.values() for name in members]


def all_values(seed, symmetric):
    rng = np.random.default_rng(seed)
    pairs = combinations(NAMES, 2) if symmetric else permutations(NAMES, 2)
    return {pair: float(rng.integers(0, 6)) for pair in pairs}


def twin_groups(values, symmetric):
    def value(a, b):
        return values[a, b] if (a, b) in values else values[b, a]

    scores = []
    for twin in (twin_auprc, twin_conformity):
        parts = []
        for own, members in GROUPS.items():
            within = [value(members[i], members[j]) for i in range(len(members)) for j in range(i + 1, len(members))]
            others = [name for group, names in GROUPS.items() if group != own for name in names]
            between = [value(a, b) for a in members for b in others]
            parts.append(twin([v for v in within if v == v], [v for v in between if v == v]))
        scores.append(sum(parts) / len(parts))
    return scores


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_groups_are_means_over_the_groups(seed, symmetric):
    values = all_values(seed, symmetric)
    found = groups(values, GROUPS, "higher", symmetric)
    assert [one.value for one in found] == pytest.approx(twin_groups(values, symmetric))
    # Of an asymmetric measure both directions between groups count, and one within.
    assert found[0].n == (21 if symmetric else 5 + 32)
    values["a0", "a1"] = values["a0", "b1"] = math.nan
    found = groups(values, GROUPS, "higher", symmetric)
    assert [one.value for one in found] == pytest.approx(twin_groups(values, symmetric))
    assert found[1].dropped == 2


def test_either_order_serves_a_symmetric_measure_only():
    values = all_values(0, True)
    turned = {(b, a): value for (a, b), value in values.items()}
    assert groups(turned, GROUPS, "lower", True) == groups(values, GROUPS, "lower", True)
    with pytest.raises(ValueError, match=r"values must contain every pair that the test needs .* got none for"):
        groups(values, GROUPS, "lower", False)


def test_an_empty_side_of_one_group_leaves_no_score():
    values = all_values(0, True)
    values["b0", "b1"] = math.nan
    for found in groups(values, GROUPS, "higher", True):
        assert math.isnan(found.value) and found.reason == "group b: no value within groups"
        assert (found.n, found.dropped) == (20, 1)


def test_groups_too_small():
    values = all_values(0, True)
    for found in groups(values, {"a": ["a0", "a1"], "b": ["b0"]}, "higher", True):
        assert math.isnan(found.value) and found.reason == "group b has 1 model, so there are no pairs within it"
    for found in groups(values, {"a": ["a0", "a1"]}, "higher", True):
        assert math.isnan(found.value) and "group a is the only one" in found.reason
