"""Expected times of exact values, and the choice between exact values and samples that depends on them."""

import numpy as np
import pytest

import shesha.measures as measures
from shesha import compare
from shesha.comparison import sampled_scores
from shesha.measures import expected_time
from shesha.measures.expected_time import exact_seconds, seconds_here


@pytest.mark.parametrize(
    ("name", "n", "seconds"),
    [
        # Two sides of n^2 entries on two cores: 384 features in single precision, and 1 ns each.
        ("mutual kNN", 200_000, 4e10 * (384 * 0.5 * 4e-11 + 1e-9)),
        # Two sides of n^2 / 2 pairs: 384 features, and 60 ns for ranking.
        ("RSA", 100_000, 5e9 * (384 * 4e-11 + 6e-8)),
        ("CKA", 200_000, 0.0),
    ],
)
def test_the_time_is_that_of_all_entries_on_any_number_of_cores(monkeypatch, name, n, seconds):
    monkeypatch.setenv("SHESHA_THREADS", "1")
    assert exact_seconds(measures.get(name), n, (384, 384)) == pytest.approx(seconds, rel=1e-3)


@pytest.fixture
def cache(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("SHESHA_THREADS", "1")
    expected_time._core_factor.cache_clear()
    yield tmp_path / "shesha"
    expected_time._core_factor.cache_clear()


def test_announced_times_are_those_of_this_machine_measured_once(cache, monkeypatch):
    monkeypatch.setattr(expected_time.time, "thread_time", iter([k * 0.1 for k in range(99)]).__next__)
    factor = 0.1 / (700**3 * 4e-11 + 2 * 200_000 * 6e-8)
    assert seconds_here(100.0) == pytest.approx(200 * factor), "one thread in place of two cores"
    expected_time._core_factor.cache_clear()
    monkeypatch.setattr(expected_time.time, "thread_time", None)
    assert seconds_here(100.0) == pytest.approx(200 * factor), "kept in a file"


@pytest.mark.parametrize("content", [None, "", "[]", '{"factor": null}', '{"factor": -1}', '{"factor": NaN}'])
def test_a_damaged_or_unwritable_cache_is_replaced_or_ignored(cache, content):
    if content is None:
        cache.write_text("a file in place of the folder", encoding="utf-8")
    else:
        cache.mkdir()
        (cache / f"speed-{expected_time.platform.node()}.json").write_text(content, encoding="utf-8")
    assert 0 < seconds_here(1.0) < 1000


@pytest.fixture
def slow(monkeypatch):
    """Pretend that RSA takes 14 minutes and mutual kNN half a minute."""
    monkeypatch.setattr(sampled_scores, "seconds_here", lambda seconds: seconds)
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
