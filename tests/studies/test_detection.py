"""Formulas of the studies of drift and transfer, against brute force."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from shesha_studies.language._drift_and_loss import (
    NEVER,
    contest,
    correlation_within_groups,
    drifts,
    fewer_right,
    firsts,
    less_correlated,
)


def test_the_first_level_is_the_lowest_that_passes():
    rows = pd.DataFrame(
        {
            "level": [0.1, 0.2, 0.3] * 2,
            "draw": [0] * 6,
            "unit": [0] * 3 + [1] * 3,
            "a": [0, 2, 3, 0, 0, 2],
            "b": [2, 2, 2, 0, 0, 0],
        }
    )
    bounds = rows.groupby(["unit", "draw"])[["a", "b"]].first() * 0 + 1.0
    table = firsts(rows, bounds, ["unit", "draw"])
    assert table.a.tolist() == [0.2, 0.3]
    assert table.b.tolist() == [0.1, NEVER]
    assert contest(table, "a", "b") == (1, 0, 1)


def test_equal_damage_is_compared_within_groups_only():
    rng = np.random.default_rng(1)
    rows = pd.DataFrame(
        [
            {"level": i, "unit": j, "x": 10 * i + rng.random(), "drop": 10 * i + rng.random()}
            for i in range(6)
            for j in range(4)
        ]
    )
    assert spearmanr(rows.x, rows["drop"]).statistic > 0.9
    rho, p = correlation_within_groups(rows, "x", ["level"], "unit")
    each = [spearmanr(own.x, own["drop"]).statistic for _, own in rows.groupby("level")]
    assert rho == pytest.approx(np.mean(each))
    table = rows.pivot_table(index="level", columns="unit", values="drop").to_numpy()
    x = rows.pivot_table(index="level", columns="unit", values="x").to_numpy()
    every = [
        np.mean([spearmanr(a, b[list(order)]).statistic for a, b in zip(x, table, strict=True)])
        for order in permutations(range(4))
    ]
    assert p == pytest.approx(np.mean(np.array(every) >= rho - 1e-12), abs=0.06)


def test_procrustes_is_the_root_of_twice_the_printed_formula():
    rng = np.random.default_rng(2)
    x = rng.standard_normal((30, 5))
    found = drifts(x, x + 0.3 * rng.standard_normal(x.shape))
    assert found["procrustes"] == pytest.approx(np.sqrt(2 * found["squared"]))
    assert max(abs(value) for value in drifts(x, x).values()) < 1e-7


def test_a_loss_is_judged_by_the_answers_that_changed_sides():
    before = np.array([True] * 10 + [False] * 10)
    after = before.copy()
    assert fewer_right(before, after) == 1.0
    after[:5] = False
    assert fewer_right(before, after) == pytest.approx(0.5**5)


def test_a_lost_correlation_has_a_small_p():
    rng = np.random.default_rng(3)
    scores = rng.standard_normal(80)
    near, far = scores + 0.3 * rng.standard_normal(80), scores + 2 * rng.standard_normal(80)
    assert less_correlated(near, far, scores) < 0.01
    assert less_correlated(near, near, scores) == 1.0
