"""Correlations of resampled rows are those of rows written out; the mixed model is statsmodels'."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from shesha_studies.perturbation_tables.random_intercept import random_intercept
from shesha_studies.stability_correlations._bootstrap_correlations import (
    correlation,
    counts,
    round_as_stored,
    weighted_spearman,
)


def test_a_count_is_as_many_copies_of_the_row():
    rng = np.random.default_rng(0)
    x, y = rng.integers(6, size=(2, 30)).astype(float)
    drawn = counts(30, 20, rng)
    assert (drawn.sum(axis=1) == 30).all()
    for value, weights in zip(weighted_spearman(x, y, drawn), drawn.astype(int), strict=True):
        copies = np.repeat(np.arange(30), weights)
        assert value == pytest.approx(spearmanr(x[copies], y[copies]).statistic)


def test_groups_widen_the_interval_of_rows_that_share_them():
    rng = np.random.default_rng(0)
    own = np.repeat(np.arange(8), 25)
    x, y = (rng.standard_normal(8)[own] + 0.1 * rng.standard_normal(200) for _ in range(2))
    found = correlation(x, y, own, 2000, 400)
    assert found.group_high - found.group_low > 2 * (found.high - found.low)
    assert found.value == pytest.approx(spearmanr(x, y).statistic)


def test_rows_without_a_score_are_left_out():
    found = correlation([1, 2, 3, 4, np.nan], [1, 2, 3, np.nan, 5], list("abcde"), 10, 10)
    assert found.n == 3
    assert np.isnan(found.value)


def test_the_mixed_model_is_that_of_statsmodels():
    statsmodels = pytest.importorskip("statsmodels.api")
    rng = np.random.default_rng(0)
    own = np.repeat(np.arange(12), rng.integers(5, 15, size=12))
    x = rng.standard_normal(len(own)) + rng.standard_normal(12)[own]
    y = 0.4 * x + rng.standard_normal(12)[own] + rng.standard_normal(len(own))
    design = np.column_stack([np.ones(len(x)), x])
    found = random_intercept(design, y, own)
    expected = statsmodels.MixedLM(y, pd.DataFrame({"one": 1.0, "x": x}), groups=own).fit(reml=True)
    between = float(np.asarray(expected.cov_re)[0, 0])
    assert found.betas[1] == pytest.approx(expected.params["x"], rel=1e-4)
    V = expected.scale * np.eye(len(x)) + between * (own[:, None] == own)
    spread = np.linalg.inv(design.T @ np.linalg.solve(V, design))
    assert found.errors[1] == pytest.approx(np.sqrt(spread[1, 1]), rel=1e-3)
    assert (found.between, found.residual) == pytest.approx((between, expected.scale), rel=1e-3)


def test_rows_are_rounded_as_they_are_kept():
    rows = pd.DataFrame({"score": np.random.default_rng(0).standard_normal(50), "n": range(50)})
    once = round_as_stored(rows)
    pd.testing.assert_frame_equal(round_as_stored(once), once)
    assert once.score.tolist() == [float(f"{value:.6g}") for value in rows.score]
