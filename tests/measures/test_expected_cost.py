"""Expected times of exact values, and the choice between exact values and samples that depends on them."""

import numpy as np
import pytest

import shesha.measures as measures
from shesha import compare
from shesha.comparison import sampled_scores
from shesha.measures import registry
from shesha.measures.registry import exact_seconds


@pytest.fixture
def one_thread(monkeypatch):
    monkeypatch.setattr(registry, "n_threads", lambda: 1)


@pytest.mark.parametrize(
    ("name", "n", "seconds"),
    [
        # Two sides of n^2 entries: 384 features in single precision, and 1 ns each.
        ("mutual kNN", 200_000, 2 * 4e10 * (384 * 0.5 * 4e-11 + 1e-9)),
        # Two sides of n^2 / 2 pairs: 384 features, and 60 ns for ranking.
        ("RSA", 100_000, 2 * 5e9 * (384 * 4e-11 + 6e-8)),
        ("CKA", 200_000, 0.0),
    ],
)
def test_the_time_is_that_of_all_entries(one_thread, name, n, seconds):
    assert exact_seconds(measures.get(name), n, (384, 384)) == pytest.approx(seconds, rel=1e-3)


@pytest.fixture
def slow(monkeypatch):
    """Pretend that RSA takes 14 minutes and mutual kNN half a minute."""
    times = {"RSA": 840.0, "mutual kNN": 30.0}
    monkeypatch.setattr(sampled_scores, "exact_seconds", lambda measure, *_: times.get(measure.name, 0.0))


def pair(n=1_500):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 4))
    return X, X + rng.standard_normal((n, 4))


def test_only_what_takes_too_long_is_sampled(slow):
    X, Y = pair()
    found = compare(X, Y, ["RSA", "mutual kNN", "CKA"])
    assert found["RSA"].sampling_error > 0
    assert found["mutual kNN"].sampling_error is None
    assert "Estimated from a sample: RSA +-" in found.headline
    assert "`--exact` (`exact=True`) takes about 14 minutes." in found.headline
    exact = compare(X, Y, ["RSA", "mutual kNN", "CKA"], exact=True)
    assert exact["RSA"].sampling_error is None
    assert "Estimated" not in exact.headline
    assert exact["mutual kNN"].value == found["mutual kNN"].value
    assert found["RSA"].sampling_low < exact["RSA"].value < found["RSA"].sampling_high


def test_all_that_can_be_sampled_is_sampled_on_request():
    X, Y = pair(200)
    found = compare(X, Y, ["RSA", "mutual kNN", "CKA"], exact=False)
    assert found["mutual kNN"].sampling_error is not None
    assert found["CKA"].sampling_error is None


def test_an_interrupted_sample_keeps_the_exact_values(slow, monkeypatch):
    X, Y = pair()
    drawn = sampled_scores.sampled_scores

    def stop_after_one(*args):
        yield next(drawn(*args))
        raise KeyboardInterrupt

    monkeypatch.setattr(sampled_scores, "sampled_scores", stop_after_one)
    found = compare(X, Y, ["CKA", "RSA"], exact="auto")
    assert found.interrupted
    assert found["RSA"].sampling_error is not None
    assert found["CKA"].has_value
