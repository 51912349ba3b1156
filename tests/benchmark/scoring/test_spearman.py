"""The rank correlation over pairs of models and its p-value by relabelling the models."""

import math
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import pdist
from scipy.stats import spearmanr

from shesha.measures import get
from shesha_bench.mantel import rank_correlation
from shesha_bench.measure_quality import spearman
from shesha_bench.pairs_and_scores import score_prediction


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


def test_seeds():
    x, y = np.random.default_rng(3).standard_normal((2, 45))
    first = spearman(x, y, 10, n_permutations=99, seed=4)
    assert spearman(x, y, 10, n_permutations=99, seed=4) == first
    assert {spearman(x, y, 10, n_permutations=99, seed=seed).p_value for seed in range(5)} != {first.p_value}


def test_without_models_there_is_no_p_value():
    assert math.isnan(spearman([1, 2, 3], [3, 1, 2]).p_value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1, 2], [1, 2, 3]), r"differences must have one value per distance \(2\), got 3"),
        (([[1, 2]], [1, 2]), r"distances must be 1-D"),
        (([1, 2, 3], [1, 2, 3], 4), "pairs must name the models of each of the 3 distances, got 6 pairs"),
        (([1, 2], [1, 2], 2, [(0, 1), (1, 2)]), "pairs must contain two different model numbers from 0 to 1"),
        (([1, 2], [1, 2], 2, [(0, 1), (1, 1)]), "pairs must contain two different model numbers"),
        (([1, 2], [1, 2], 2, [(0, 1), (0, 1)]), "pairs must be distinct"),
        (([1, 2, 3], [1, 2, 3], 3, None, 0), "n_permutations must be at least 1, got 0"),
    ],
)
def test_bad_input(arguments, message):
    with pytest.raises(ValueError, match=message):
        spearman(*arguments)


@pytest.mark.parametrize("values", [[], [1.0], [np.nan, 2.0]])
def test_too_few_pairs(values):
    found = spearman(values, values)
    assert math.isnan(found.value) and found.reason == "fewer than two pairs with values"


@pytest.mark.parametrize("value", ["5", None, [1.0, 2.0]])
def test_a_value_that_is_no_number_is_refused(value):
    values = {("a", "b"): value, ("a", "c"): 1.0, ("b", "c"): 2.0}
    with pytest.raises(TypeError, match="values must be one real number, got"):
        score_prediction(get("cka"), values, ["a", "b", "c"], {"jsd": dict.fromkeys(values, 1.0)})


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
