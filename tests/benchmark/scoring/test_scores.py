"""Scores against brute force: correlations, groups, layers and output differences."""

from __future__ import annotations

import math
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.spatial.distance import jensenshannon, pdist
from scipy.stats import spearmanr

from shesha.measures import get
from shesha_bench import tests
from shesha_bench.scores import (
    accuracy_difference,
    auprc,
    conformity,
    disagreement,
    groups,
    jensen_shannon,
    layers,
    rank_correlation,
    spearman,
)


def twin_correlation(x, y):
    """Pearson correlation of mean ranks, all by loops."""

    def ranked(values):
        return [sum(v < u for v in values) + (sum(v == u for v in values) + 1) / 2 for u in values]

    a, b = ranked(x), ranked(y)
    mean_a, mean_b = sum(a) / len(a), sum(b) / len(b)
    top = sum((u - mean_a) * (v - mean_b) for u, v in zip(a, b, strict=True))
    return top / math.sqrt(sum((u - mean_a) ** 2 for u in a) * sum((v - mean_b) ** 2 for v in b))


def twin_p(x, y, n_models, pairs):
    """Two-sided p over all relabellings, by loops."""
    known = dict(zip(pairs, y, strict=True))
    either = {pair[::-1]: value for pair, value in known.items()} | known
    observed = abs(twin_correlation(x, y))
    found = [
        abs(twin_correlation(x, [either[order[i], order[j]] for i, j in pairs]))
        for order in permutations(range(n_models))
    ]
    return sum(r >= observed - 1e-9 for r in found) / len(found)


small = st.lists(st.integers(0, 6), min_size=10, max_size=10)


@given(small, small)
def test_value_and_exact_p_are_those_of_the_definition(x, y):
    pairs = list(combinations(range(5), 2))
    found = spearman(x, y, 5)
    if min(x) == max(x) or min(y) == max(y):
        assert math.isnan(found.value) and found.reason == "all values are equal"
        return
    assert found.value == pytest.approx(twin_correlation(x, y), abs=1e-12)
    assert found.value == pytest.approx(spearmanr(x, y).statistic, abs=1e-12)
    assert found.p_value == pytest.approx(twin_p(x, y, 5, pairs), abs=1e-12)


def test_both_directions_of_an_asymmetric_measure(rng):
    pairs = list(permutations(range(4), 2))
    x = rng.standard_normal(len(pairs))
    differences = {frozenset(pair): value for pair, value in zip(combinations(range(4), 2), range(6), strict=True)}
    y = [differences[frozenset(pair)] for pair in pairs]
    found = spearman(x, y, pairs=pairs)
    assert found.value == pytest.approx(twin_correlation(list(x), y))
    assert found.p_value == pytest.approx(twin_p(x, y, 4, pairs))


def test_drawn_relabellings_come_near_all_of_them(rng):
    points = rng.standard_normal((7, 2))
    x, y = pdist(points), pdist(points + 0.7 * rng.standard_normal(points.shape))
    exact = spearman(x, y, 7, n_permutations=5040)
    drawn = spearman(x, y, 7, n_permutations=4000, seed=1)
    assert 0.001 < exact.p_value < 0.3
    assert drawn.p_value == pytest.approx(exact.p_value, abs=4 * math.sqrt(exact.p_value / 4000))
    assert drawn.value == exact.value


def test_the_true_labels_count_among_those_drawn(rng):
    x = rng.standard_normal(45)
    assert spearman(x, x, 10, n_permutations=99).p_value == 1 / 100


@pytest.mark.parametrize("draw", range(5))
def test_with_missing_values_each_relabelling_counts_what_both_have(rng, draw):
    pairs = list(combinations(range(5), 2))
    x, y = rng.standard_normal((draw + 1, 2, 10))[draw]
    x[[0, 4]], y[7] = np.nan, np.nan
    a, b = (np.array([np.nan if v != v else np.sum(values < v) for v in values]) for values in (x, y))
    square = np.full((5, 5), np.nan)
    for (i, j), rank in zip(pairs, b, strict=True):
        square[i, j] = square[j, i] = rank
    found = []
    for order in permutations(range(5)):
        other = np.array([square[order[i], order[j]] for i, j in pairs])
        kept = ~np.isnan(a) & ~np.isnan(other)
        found.append(abs(np.corrcoef(a[kept], other[kept])[0, 1]))
    assert spearman(x, y, 5).p_value == pytest.approx(np.mean(np.array(found) >= found[0] - 1e-9))


def test_the_order_of_the_pairs_does_not_matter(rng):
    pairs = list(combinations(range(9), 2))
    x, y = rng.standard_normal((2, len(pairs)))
    order = rng.permutation(len(pairs))
    first = spearman(x, y, 9, n_permutations=300)
    second = spearman(x[order], y[order], 9, [pairs[place][::-1] for place in order], n_permutations=300)
    assert second.value == pytest.approx(first.value) and second.p_value == first.p_value


@given(small, small)
def test_only_the_order_of_the_values_counts(x, y):
    same = spearman(x, y, 5)
    mapped = spearman(np.exp(x), [3 * value - 7 for value in y], 5)
    flipped = spearman([-value for value in x], y, 5)
    np.testing.assert_allclose(
        [mapped.value, mapped.p_value, -flipped.value, flipped.p_value],
        [same.value, same.p_value, same.value, same.p_value],
        atol=1e-12,
    )


def test_pairs_without_a_value_are_dropped_and_counted(rng):
    x, y = rng.standard_normal((2, 15))
    x[3], y[3], y[8] = np.nan, np.nan, np.nan
    found = spearman(x, y, 6)
    kept = [place for place in range(15) if place not in (3, 8)]
    assert (found.n, found.dropped) == (13, 2)
    assert found.value == pytest.approx(spearmanr(x[kept], y[kept]).statistic)
    assert 1 / 720 <= found.p_value <= 1


def test_the_p_value_keeps_its_level_with_missing_values(rng):
    p_values = []
    for _ in range(300):
        x = pdist(rng.standard_normal((7, 3)))
        x[rng.choice(21, 4, replace=False)] = np.nan
        p_values.append(spearman(x, pdist(rng.standard_normal((7, 1))), 7, n_permutations=199).p_value)
    assert np.mean(np.array(p_values) <= 0.05) <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 300)


def test_models_keep_the_level_where_pairs_do_not(rng):
    """Independent distances between the same models: relabelling pairs finds too much."""
    by_models, by_pairs = [], []
    for draw in range(400):
        x, y = pdist(rng.standard_normal((10, 20))), pdist(rng.standard_normal((10, 1)))
        by_models.append(spearman(x, y, 10, n_permutations=199, seed=draw).p_value)
        ranks = [values.argsort().argsort() - 22.0 for values in (x, y)]
        null = np.abs(rng.permuted(np.tile(ranks[0], (199, 1)), axis=1) @ ranks[1])
        by_pairs.append((1 + (null >= abs(ranks[0] @ ranks[1]) - 1e-9).sum()) / 200)
    error = 3 * math.sqrt(0.05 * 0.95 / 400)
    assert np.mean(np.array(by_models) <= 0.05) <= 0.05 + error
    assert np.mean(np.array(by_pairs) <= 0.05) > 0.05 + error / 2


def test_without_models_there_is_no_p_value():
    assert math.isnan(spearman([1, 2, 3], [3, 1, 2]).p_value)


def test_one_order_of_a_pair_stands_for_both_and_two_orders_for_themselves():
    distances, differences = np.arange(1.0, 7), np.array([1.0, 2, 3, 4, 6, 5])
    pairs = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    turned = [pair[::-1] for pair in pairs]
    one, other = (spearman(distances, differences, pairs=chosen) for chosen in (pairs, turned))
    assert one.p_value == other.p_value == spearman(distances, differences, n_models=4).p_value
    both = spearman(np.tile(distances, 2), np.tile(differences, 2), pairs=pairs + turned)
    assert (both.value, both.p_value) == pytest.approx((one.value, one.p_value))


@pytest.mark.parametrize(("x", "y"), [([], []), ([1.0], [2.0]), ([1.0, 1.0], [1.0, 2.0]), ([1.0, 2.0], [3.0, 3.0])])
def test_two_different_values_on_both_sides_make_a_correlation(x, y):
    assert np.isnan(rank_correlation(np.array(x), np.array(y)))
    assert rank_correlation(np.array([1.0, 2.0]), np.array([5.0, 3.0])) == -1


def test_rounding_errors_of_the_distances_do_not_break_ties():
    distances = np.array([1.0, 1.0, 0.5, 1.0, 0.2, 0.5])
    differences = [1, 2, 3, 4, 5, 6]
    moved = distances * (1 + 4e-16 * np.array([1, -1, 1, 0, 1, -1]))
    assert spearman(moved, differences, n_models=4) == spearman(distances, differences, n_models=4)


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
def test_direction_and_monotone_maps_change_no_score_of_groups(score, within, between):
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


def drawn(seed, n, symmetric, levels=8, missing=0):
    rng = np.random.default_rng(seed)
    values = {pair: float(rng.integers(0, levels)) for pair in permutations(range(n), 2)}
    if symmetric:
        values = {(i, j): values[min(i, j), max(i, j)] for i, j in values}
    for place in rng.choice(n * (n - 1), missing, replace=False):
        i, j = list(values)[place]
        values[i, j] = math.nan
        if symmetric:
            values[j, i] = math.nan
    return values


def twin(values, n):
    """Conformity, triples, triples left out, pooled and by-layer correlation; higher is closer."""
    right = kept = dropped = 0
    by_layer = []
    for i in range(n):
        for side in (range(i + 1, n), range(i - 1, -1, -1)):
            for place, near in enumerate(side):
                for far in side[place + 1 :]:
                    pair = values[i, near], values[i, far]
                    if any(map(math.isnan, pair)):
                        dropped += 1
                        continue
                    kept += 1
                    right += pair[0] >= pair[1]
            known = [(values[i, j], -abs(i - j)) for j in side if values[i, j] == values[i, j]]
            if len(known) > 1 and len({value for value, _ in known}) > 1:
                by_layer.append(spearmanr(*zip(*known, strict=True)).statistic)
    pairs = [(values[i, j], i - j) for i in range(n) for j in range(i + 1, n) if values[i, j] == values[i, j]]
    return right / kept, kept, dropped, spearmanr(*zip(*pairs, strict=True)).statistic, np.mean(by_layer), len(by_layer)


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize(("levels", "missing"), [(1000, 0), (4, 0), (1000, 5), (4, 5)])
def test_scores_are_their_definitions(symmetric, levels, missing):
    for seed in range(5):
        values = drawn(seed, 6, symmetric, levels, missing)
        found = layers(values, 6, "higher", symmetric)
        conformity, kept, dropped, pooled, by_layer, stretches = twin(values, 6)
        assert found.conformity.value == pytest.approx(conformity)
        assert (found.conformity.n, found.conformity.dropped) == (kept, dropped)
        assert found.pooled.value == pytest.approx(pooled)
        assert found.by_layer.value == pytest.approx(by_layer)
        # Before and after each of six layers, at least two of them: eight stretches.
        assert (found.by_layer.n, found.by_layer.dropped) == (stretches, 8 - stretches)


def test_layers_that_part_step_by_step_are_perfect():
    values = {(i, j): 1.0 / (1 + abs(i - j)) for i, j in permutations(range(5), 2)}
    found = layers(values, 5, "higher", True)
    assert (found.conformity.value, found.by_layer.value) == (1, 1)
    assert found.pooled.value == pytest.approx(1)
    assert found.conformity.n == 20
    reverse = layers(values, 5, "lower", True)
    assert (reverse.conformity.value, reverse.by_layer.value) == (0, -1)
    assert reverse.pooled.value == pytest.approx(-1)


def test_pooled_and_by_layer_differ():
    """Each layer sees the order, but late layers are all far from each other."""
    steps = np.cumsum([0, 1, 10, 100])
    values = {(i, j): float(abs(steps[i] - steps[j])) for i, j in permutations(range(4), 2)}
    found = layers(values, 4, "lower", True)
    assert found.by_layer.value == 1
    assert found.pooled.value < 0.8


@pytest.mark.parametrize("symmetric", [True, False])
def test_direction_and_monotone_maps_change_no_score_of_layers(symmetric):
    values = drawn(1, 5, symmetric, missing=2)
    found = layers(values, 5, "higher", symmetric)
    assert layers({pair: -value for pair, value in values.items()}, 5, "lower", symmetric) == found
    assert layers({pair: math.exp(value) for pair, value in values.items()}, 5, "higher", symmetric) == found


def test_ties_violate_nothing_but_have_no_correlation():
    found = layers(dict.fromkeys(permutations(range(4), 2), 0.5), 4, "higher", True)
    assert found.conformity.value == 1
    assert math.isnan(found.pooled.value) and found.pooled.reason
    assert math.isnan(found.by_layer.value) and found.by_layer.reason


def test_one_direction_serves_a_symmetric_measure_only():
    values = drawn(0, 5, True)
    upper = {(i, j): value for (i, j), value in values.items() if i < j}
    assert layers(upper, 5, "lower", True) == layers(values, 5, "lower", True)
    with pytest.raises(ValueError, match=r"values must contain every pair .* got none for \(1, 0\)"):
        layers(upper, 5, "lower", False)


def test_rounding_errors_do_not_break_ties_of_layers():
    values = drawn(3, 6, symmetric=True, levels=3)
    moved = {pair: value * (1 + 4e-16 * (-1) ** sum(pair)) for pair, value in values.items()}
    assert layers(moved, 6, "higher", symmetric=True) == layers(values, 6, "higher", symmetric=True)


@pytest.fixture
def outputs(rng):
    found = rng.dirichlet(np.full(4, 0.3), size=(2, 30))
    found[0, 0], found[1, 0] = [1, 0, 0, 0], [0, 0.5, 0.5, 0]
    return found


def twin_jsd(p, q):
    total = 0.0
    for a, b in zip(p, q, strict=True):
        for u, v in zip(a, b, strict=True):
            middle = (u + v) / 2
            total += (u * math.log(u / middle) if u > 0 else 0) / 2 + (v * math.log(v / middle) if v > 0 else 0) / 2
    return total / len(p)


def test_jensen_shannon(outputs):
    p, q = outputs
    assert jensen_shannon(p, q) == pytest.approx(twin_jsd(p, q))
    assert jensen_shannon(p, q) == pytest.approx(np.mean([jensenshannon(a, b) ** 2 for a, b in zip(p, q, strict=True)]))
    assert jensen_shannon(q, p) == pytest.approx(jensen_shannon(p, q))
    assert jensen_shannon(p, p) == 0
    assert jensen_shannon(np.eye(2), np.eye(2)[::-1]) == pytest.approx(math.log(2))


def test_disagreement_and_accuracy(outputs):
    p, q = outputs
    assert (
        disagreement(p, q)
        == sum(max(range(4), key=list(a).__getitem__) != b.argmax() for a, b in zip(p, q, strict=True)) / 30
    )
    labels = p.argmax(axis=1)
    assert accuracy_difference(p, q, labels) == pytest.approx(disagreement(p, q))
    assert accuracy_difference(q, p, labels) == accuracy_difference(p, q, labels)


def test_sums_may_deviate_by_the_rounding_of_half_precision():
    assert disagreement([[0.6, 0.3995]], [[0.4, 0.6]]) == 1
    with pytest.raises(ValueError, match=r"p must have rows that sum to one, got a sum that deviates by 0\.002"):
        disagreement([[0.6, 0.398]], [[0.4, 0.6]])
    with pytest.raises(ValueError, match="q must have rows that sum to one"):
        disagreement([[1, 0], [1, 0]], [[1, 0], [0, 0]])


CKA, LINREG, RTD = get("CKA"), get("LinReg"), get("RTD")
ROW_GROUPS = {"x": ["b", "a"], "y": ["d", "c"]}


class Watched(dict):
    """Values that note which of them are asked for."""

    def __init__(self, values):
        super().__init__(values)
        self.asked = set()

    def __getitem__(self, key):
        self.asked.add(key)
        return super().__getitem__(key)


def values_of(pairs, seed=0):
    rng = np.random.default_rng(seed)
    return Watched({pair: float(rng.random()) for pair in pairs})


def test_pairs_in_list_order():
    assert tests.pairs_prediction(["b", "a", "c"], True) == [("b", "a"), ("b", "c"), ("a", "c")]
    assert set(tests.pairs_prediction("abc", False)) == set(permutations("abc", 2))
    assert tests.pairs_groups(ROW_GROUPS, True) == [
        *(("b", "a"), ("b", "d"), ("b", "c"), ("a", "d"), ("a", "c"), ("d", "c")),
    ]
    asymmetric = tests.pairs_groups(ROW_GROUPS, False)
    assert len(asymmetric) == len(set(asymmetric)) == 2 + 8
    assert ("b", "a") in asymmetric and ("a", "b") not in asymmetric and {("a", "c"), ("c", "a")} < set(asymmetric)
    assert tests.pairs_layers([["p", "q"], ["r", "s"]], True) == [("p", "q"), ("r", "s")]
    assert tests.pairs_layers([["p", "q"]], False) == [("p", "q"), ("q", "p")]
    with pytest.raises(ValueError, match="groups must contain each model once"):
        tests.pairs_groups({"x": ["a"], "y": ["a"]}, True)


@pytest.mark.parametrize("measure", [CKA, LINREG], ids=lambda measure: measure.name)
def test_exactly_these_pairs_are_used(measure):
    names = list("abcd")
    differences = {"accuracy": values_of(tests.pairs_prediction(names, True), 1)}
    values = values_of(tests.pairs_prediction(names, measure.symmetric))
    tests.score_prediction(measure, values, names, differences)
    assert values.asked == set(values)
    values = values_of(tests.pairs_groups(ROW_GROUPS, measure.symmetric))
    tests.score_groups("shortcut", measure, values, ROW_GROUPS)
    assert values.asked == set(values)
    models = [list("abc"), list("def")]
    values = values_of(tests.pairs_layers(models, measure.symmetric))
    tests.score_layers(measure, values, models)
    assert values.asked == set(values)


def test_prediction_turns_similarities_around():
    names = list("abcdef")
    pairs = tests.pairs_prediction(names, True)
    values, differences = values_of(pairs), {"jsd": values_of(pairs, 1), "disagreement": values_of(pairs, 2)}
    rows = tests.score_prediction(RTD, values, names, differences)
    assert [(row.test, row.quality, row.measure) for row in rows] == [
        ("jsd", "spearman", "RTD"),
        ("disagreement", "spearman", "RTD"),
    ]
    found = spearman(list(values.values()), list(differences["jsd"].values()), 6)
    assert (rows[0].value, rows[0].p_value, rows[0].n) == (found.value, found.p_value, 15)
    turned = tests.score_prediction(CKA, values, names, differences)
    assert turned[0].value == pytest.approx(-found.value) and turned[0].p_value == found.p_value


def test_groups_give_both_qualities():
    values = values_of(tests.pairs_groups(ROW_GROUPS, False))
    rows = tests.score_groups("shortcut", LINREG, values, ROW_GROUPS)
    assert [(row.test, row.quality) for row in rows] == [("shortcut", "auprc"), ("shortcut", "conformity")]
    assert [row.value for row in rows] == [one.value for one in groups(values, ROW_GROUPS, "higher", False)]
    assert all(math.isnan(row.p_value) for row in rows)


def test_layers_are_means_over_the_models_with_a_value():
    models = [list("abcd"), list("efgh"), list("ijkl")]
    values = values_of(tests.pairs_layers(models, True))
    rows = {row.quality: row for row in tests.score_layers(CKA, values, models)}
    assert list(rows) == ["conformity", "spearman", "spearman_pooled"]
    each = [
        layers({(i, j): values[own[i], own[j]] for i in range(4) for j in range(i + 1, 4)}, 4, "higher", True)
        for own in models
    ]
    assert rows["conformity"].value == pytest.approx(np.mean([one.conformity.value for one in each]))
    assert rows["spearman"].value == pytest.approx(np.mean([one.by_layer.value for one in each]))
    assert rows["spearman_pooled"].value == pytest.approx(np.mean([one.pooled.value for one in each]))
    assert {(row.n, row.dropped, row.reason) for row in rows.values()} == {(3, 0, "")}
    values |= dict.fromkeys(tests.pairs_layers(models[:1], True), math.nan)
    row = tests.score_layers(CKA, values, models)[0]
    assert row.value == pytest.approx(np.mean([one.conformity.value for one in each[1:]]))
    assert (row.n, row.dropped) == (2, 1) and row.reason == "model 0: no three layers on one side have values"


def test_triples_left_out_of_a_model_are_told():
    models = [list("abcd")]
    values = values_of(tests.pairs_layers(models, True)) | {("a", "b"): math.nan}
    row = tests.score_layers(CKA, values, models)[0]
    assert (row.n, row.dropped) == (1, 0) and row.reason == "2 comparisons of layers left out"


def test_the_six_tests_name_their_results():
    assert [test.name for test in tests.TESTS] == [
        *("accuracy", "output", "label_randomization", "shortcut", "augmentation", "layer_monotonicity"),
    ]
    assert [test.grounding for test in tests.TESTS] == ["prediction"] * 2 + ["design"] * 4
    published = pytest.importorskip("shesha_bench.ranks").published()
    named = {(row, quality) for test in tests.TESTS for row in test.rows for quality in test.qualities}
    assert named == set(published[["test", "quality"]].itertuples(index=False, name=None))
