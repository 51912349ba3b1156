"""Scores of one's own: intervals for all, chance where labels can be shuffled, refusals that say why."""

from __future__ import annotations

import numpy as np
import pytest

import shesha
from shesha.stability import registry as _registry, stability
from shesha.support.warnings import NotEstimable
from shesha.views import Plain

DECLARED = {
    "view": Plain,
    "title": "Own score",
    "bounds": (0, np.inf),
    "means": "How long is the mean row?",
    "means_not": "Nothing else.",
    "reference": "nobody 2026",
}


@pytest.fixture(autouse=True)
def registry(monkeypatch):
    """Whatever a test registers is gone after it."""
    monkeypatch.setattr(_registry.VARIANTS, "known", dict(_registry.VARIANTS.known))


def mean_length(data: Plain, power: float = 1.0) -> float:
    """Length of the mean row."""
    return float(np.linalg.norm(data.rows.mean(axis=0)) ** power)


def class_gap(data, y):
    """Distance between the means of the first two classes."""
    return float(np.linalg.norm(data.rows[y.codes == 0].mean(axis=0) - data.rows[y.codes == 1].mean(axis=0)))


def test_a_score_of_rows_has_an_interval_and_no_chance(rng):
    score = stability(**DECLARED)(mean_length)
    X = rng.standard_normal((50, 4)) + 1
    found = shesha.estimate(X, variant="mean_length", seed=0, power=2.0)
    assert found.value == score(X, power=2.0) == pytest.approx((X.mean(axis=0) ** 2).sum())
    assert found.low < found.value < found.high and found.n_resamples == 200
    # The bootstrap's spread of the mean of normal rows.
    assert found.standard_error == pytest.approx(2 * np.sqrt(found.value / 50), rel=0.4)
    message = "variant must have a null distribution, got 'mean_length', which has none"
    with pytest.raises(ValueError, match=message):
        shesha.estimate(X, variant="mean_length", seed=0, n_bootstrap=0, n_permutations=19)


def test_a_score_of_labels_has_both(rng):
    score = stability(needs="labels", **DECLARED)(class_gap)
    y = np.repeat(["a", "b"], 20)
    X = rng.standard_normal((40, 4))
    X[:20] += 1
    found = shesha.estimate(X, y, "class_gap", seed=0, n_bootstrap=0)
    assert found.value == score(X, y) == shesha.estimate(X, y, "class_gap", seed=0).value
    assert found.p_value == pytest.approx(1 / 201) and len(found.null) == 200
    # Each matching is the score of labels in another order.
    assert min(found.null) > 0 and found.chance < found.value


def test_no_number_has_a_reason(rng):
    score = stability(**DECLARED)(mean_length)
    X = rng.standard_normal((8, 3))
    with pytest.warns(shesha.NotEstimableWarning, match="not estimable: mean_length did not return a number"):
        assert np.isnan(score(X, power=np.nan))
    assert shesha.estimate(X, variant="mean_length", power=np.nan).reason == "mean_length did not return a number"

    def refuses(data):
        raise NotEstimable("the moon is not full")

    stability(**DECLARED)(refuses)
    found = shesha.estimate(X, variant="refuses")
    assert np.isnan(found.value) and found.reason == "the moon is not full"
