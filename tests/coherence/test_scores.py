"""Scores of shifts against their definitions, and against what noise alone gives."""

import numpy as np
import pytest

from shesha.coherence import (
    expected_mean_cosine,
    magnitude,
    mean_cosine,
    pairwise_cosine,
    snr,
    spread,
)
from shesha.support.warnings import NotEstimableWarning


def shifts(seed=0, n=12, d=5):
    return np.random.default_rng(seed).normal(size=(n, d)) + 0.3


def cosine(a, b):
    return a @ b / np.linalg.norm(a) / np.linalg.norm(b)


def test_mean_cosine_is_that_of_each_shift_to_their_mean():
    v = shifts()
    assert mean_cosine(v) == pytest.approx(np.mean([cosine(one, v.mean(axis=0)) for one in v]), abs=1e-14)


def test_pairwise_cosine_is_the_mean_over_pairs():
    v = shifts()
    pairs = [cosine(v[i], v[j]) for i in range(len(v)) for j in range(i)]
    assert pairwise_cosine(v) == pytest.approx(np.mean(pairs), abs=1e-14)


def test_magnitude_spread_and_snr():
    v = shifts()
    assert magnitude(v) == pytest.approx(np.linalg.norm(v.mean(axis=0)))
    assert spread(v) == pytest.approx(np.mean([np.linalg.norm(one - v.mean(axis=0)) for one in v]))
    assert snr(v) == pytest.approx(magnitude(v) / spread(v))


def test_shifts_of_no_length_are_left_out():
    v = np.vstack([shifts(), np.zeros((1, 5))])
    assert pairwise_cosine(v) == pytest.approx(pairwise_cosine(v[:-1]), abs=1e-14)
    assert mean_cosine(v) == pytest.approx(mean_cosine(v[:-1]), abs=1e-14)


@pytest.mark.parametrize("score", [mean_cosine, pairwise_cosine])
def test_directions_do_not_depend_on_scale_or_rotation(score):
    v = shifts()
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(5, 5)))[0]
    assert score(7 * v @ turn) == pytest.approx(score(v), abs=1e-13)


def test_what_has_no_direction_is_not_estimable():
    with pytest.warns(NotEstimableWarning, match="must be nonzero"):
        assert np.isnan(mean_cosine([[1.0, 0], [-1, 0], [0, 1], [0, -1]]))
    with pytest.warns(NotEstimableWarning, match="two shifts must be nonzero"):
        assert np.isnan(pairwise_cosine([[1.0, 0], [0, 0], [0, 0], [0, 0]]))
    with pytest.warns(NotEstimableWarning, match="shifts are equal"):
        assert np.isnan(snr(np.ones((4, 2))))


@pytest.mark.parametrize(("n", "d", "n_controls"), [(10, 50, None), (10, 3, None), (25, 5, 40), (10, 8, 12)])
def test_the_closed_form_is_the_mean_under_isotropic_noise(n, d, n_controls):
    rng = np.random.default_rng(n + d)
    found = []
    for _ in range(600):
        reference = 0 if n_controls is None else rng.normal(size=(n_controls, d)).mean(axis=0)
        v = rng.normal(size=(n, d)) - reference
        found.append(mean_cosine(v))
    error = np.std(found) / np.sqrt(len(found))
    assert abs(np.mean(found) - expected_mean_cosine(n, d, n_controls)) < 4 * error
