"""Layer monotonicity: against definitions by loops, and laws."""

import math
from itertools import permutations

import numpy as np
import pytest
from scipy.stats import spearmanr

from shesha_bench.layer_order_quality import layers


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
def test_direction_and_monotone_maps_change_nothing(symmetric):
    values = drawn(1, 5, symmetric, missing=2)
    found = layers(values, 5, "higher", symmetric)
    assert layers({pair: -value for pair, value in values.items()}, 5, "lower", symmetric) == found
    assert layers({pair: math.exp(value) for pair, value in values.items()}, 5, "higher", symmetric) == found


def test_ties_violate_nothing_but_have_no_correlation():
    found = layers(dict.fromkeys(permutations(range(4), 2), 0.5), 4, "higher", True)
    assert found.conformity.value == 1
    assert math.isnan(found.pooled.value) and found.pooled.reason
    assert math.isnan(found.by_layer.value) and found.by_layer.reason


def test_two_layers_have_no_order():
    found = layers({(0, 1): 0.3}, 2, "higher", True)
    assert math.isnan(found.conformity.value) and found.conformity.reason == "no three layers on one side have values"
    assert math.isnan(found.pooled.value) and math.isnan(found.by_layer.value)


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
