"""Values, intervals and chance of moments."""

import numpy as np
import pytest
from scipy.stats import t as student_t

import shesha
from shesha import Moments
from shesha.comparison import sampled_scores
from shesha.comparison.moment_scores import (
    _add_interval,
    jackknife_mean,
    jackknife_variance,
    values_without_parts,
    views_of_moments,
)
from shesha.comparison.sampled_scores import Sampling, compare_stored
from shesha.io import open_matrix
from shesha.measures import choose
from shesha.results import Score


def related(n, strength, seed=0, widths=(8, 6)):
    rng = np.random.default_rng(seed)
    shared = rng.standard_normal((n, 3))
    return [strength * shared @ rng.standard_normal((3, d)) + rng.standard_normal((n, d)) for d in widths]


def test_the_jackknife_of_a_mean_is_its_standard_error():
    rng = np.random.default_rng(0)
    values, sizes = rng.standard_normal(300), np.repeat(10, 30)
    without = np.array([np.delete(values, range(i, i + 10)).mean() for i in range(0, 300, 10)])
    groups = values.reshape(30, 10).mean(axis=1)
    assert jackknife_variance(values.mean(), without, sizes) == pytest.approx(groups.var(ddof=1) / 30)


@pytest.mark.parametrize("confidence", [0.5, 0.95])
def test_the_interval_of_a_mean_of_few_groups_is_the_textbook_one(confidence):
    rng = np.random.default_rng(0)
    values, sizes = rng.standard_normal(40), np.repeat(10, 4)
    without = np.array([np.delete(values, range(i, i + 10)).mean() for i in range(0, 40, 10)])
    score = Score(name="mean", family="", value=values.mean(), closer="higher", possible_low=-9, possible_high=9)
    found = _add_interval(score, without, sizes, confidence, (-9, 9))
    half = student_t.ppf(0.5 + confidence / 2, 3) * values.reshape(4, 10).mean(axis=1).std(ddof=1) / 2
    assert (found.low, found.high) == pytest.approx((values.mean() - half, values.mean() + half))
    bounded = _add_interval(score, without, sizes, 0.999, (-0.1, 0.1))
    assert (bounded.low, bounded.high) == (min(values.mean(), -0.1), max(values.mean(), 0.1))
    assert not _add_interval(score, np.append(without[1:], np.nan), sizes, confidence, (-9, 9)).has_interval


@pytest.mark.parametrize("size", [1, 10])
def test_the_jackknife_corrects_the_bias_of_a_variance(size):
    """Its bias is minus the variance of the mean, which groups estimate; single values give the variance over n - 1."""
    values = np.random.default_rng(0).standard_normal(60)
    without = np.array([np.delete(values, range(i, i + size)).var() for i in range(0, 60, size)])
    found = jackknife_mean(values.var(), without, np.full(60 // size, size))
    groups = values.reshape(-1, size).mean(axis=1)
    assert found == pytest.approx(values.var() + groups.var(ddof=1) / len(groups), rel=1e-12)
    assert size > 1 or found == pytest.approx(values.var(ddof=1), rel=1e-12)


def test_a_bias_that_the_interval_does_not_cover_is_noted(tmp_path):
    moments = Moments.of(*related(2_000, 0.5))
    found = shesha.compare(moments, ["CCA", "OrthProc", "unbiased CKA"], calibrate=True, n_permutations=19)
    assert "the interval describes the value for 2,000 rows" in found["CCA"].notes[0]
    assert found["unbiased CKA"].notes == ()
    parts = moments.parts()
    (without,) = values_without_parts(views_of_moments(moments), parts, shesha.measures.choose(["CCA"]))
    corrected = jackknife_mean(found["CCA"].value, without, np.array([part.n_rows for part in parts]))
    assert f"about {found['CCA'].value - corrected:+.2g}, or" in found["CCA"].notes[0]
    # More rows lower CCA, and lengthen the distance.
    more = shesha.compare(Moments.of(*related(200_000, 0.5)), ["CCA", "OrthProc"])
    assert more["CCA"].value < corrected < found["CCA"].value
    assert "about -" in found["OrthProc"].notes[0]
    page = found.save_html(tmp_path / "page.html").read_text()
    for text in (str(found), found.to_json(), page):
        assert "not the bias of finite" in " ".join(text.split())


def test_unequal_groups_are_weighted():
    rng = np.random.default_rng(1)
    sizes = rng.integers(5, 40, 25)
    found = []
    for _ in range(400):
        groups = [rng.standard_normal(size) for size in sizes]
        values = np.concatenate(groups)
        without = [np.concatenate(groups[:i] + groups[i + 1 :]).mean() for i in range(25)]
        found.append(jackknife_variance(values.mean(), np.array(without), sizes))
    assert np.mean(found) == pytest.approx(1 / sizes.sum(), rel=0.05)


def test_chance_and_calibrated_values_are_near_those_of_permutations():
    X, Y = related(1_000, 0.1)
    names = ["CKA", "unbiased CKA", "CCA", "OrthProc", "LinReg", "HardCorr", "PWCKA"]
    streamed = shesha.compare(Moments.of(X, Y), names, calibrate=True, n_permutations=2_000)
    direct = shesha.compare(X, Y, names, calibrate=True, n_permutations=2_000)
    for score in streamed:
        other = direct[score.name]
        assert score.chance == pytest.approx(other.chance, abs=0.1 * other.chance_sd), score.name
        assert score.chance_sd == pytest.approx(other.chance_sd, rel=0.1)
        assert score.threshold == pytest.approx(other.threshold, abs=0.25 * other.chance_sd)
        best = 0.0 if score.name == "OrthProc" else 1.0
        excess = (score.value - score.threshold) / (best - score.threshold)
        assert score.calibrated == pytest.approx(max(0.0, excess)), score.name


def test_intervals_have_about_the_width_of_those_from_subsets():
    X, Y = related(4_000, 0.7)
    names = ["CKA", "CCA", "OrthProc", "LinReg"]
    streamed = shesha.compare(Moments.of(X, Y), names, calibrate=True)
    direct = shesha.compare(X, Y, names, calibrate=True)
    for score in streamed:
        width, other = score.high - score.low, direct[score.name]
        assert 0.5 < width / (other.high - other.low) < 2, score.name
        assert score.low < score.value < score.high


def test_the_tail_is_near_that_of_ten_thousand_permutations():
    rng = np.random.default_rng(3)
    X, Y = rng.standard_normal((200, 6)), rng.standard_normal((200, 5))
    score = shesha.compare(Moments.of(X, Y), "CKA", calibrate=True)["CKA"]
    orders = [rng.permutation(200) for _ in range(10_000)]
    x, y = X - X.mean(axis=0), Y - Y.mean(axis=0)
    scale = np.linalg.norm(x.T @ x) * np.linalg.norm(y.T @ y)
    values = np.array([np.linalg.norm(x.T @ y[order]) ** 2 for order in orders]) / scale
    assert score.chance == pytest.approx(values.mean(), rel=0.01)
    assert score.chance_sd == pytest.approx(values.std(), rel=0.03)
    assert (values > score.threshold).mean() == pytest.approx(0.05, abs=0.008)


def test_sums_that_would_take_too_long_are_estimated_from_a_sample_of_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(sampled_scores, "MINUTE", 0.002)

    def found(names, exact="auto"):
        files = [open_matrix(tmp_path / f"{side}.npy") for side in "xy"]
        chance = {"calibrate": False, "n_draws": 20, "alpha": 0.05}
        return compare_stored(*files, ("x", "y"), choose(names), Sampling(exact=exact), chance)

    covered = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((40_000, 32))
        np.save(tmp_path / "x.npy", X)
        np.save(tmp_path / "y.npy", X @ rng.standard_normal((32, 32)) + 6 * rng.standard_normal(X.shape))
        sample, exact = found(["unbiased CKA"])["unbiased CKA"], found(["unbiased CKA"], True)["unbiased CKA"]
        assert any("of 40,000 rows" in note for note in sample.notes)
        assert exact.sampling_error is None
        covered += sample.sampling_low <= exact.value <= sample.sampling_high
    assert covered >= 10
    both = found(["CKA", "unbiased CKA"])
    assert both["unbiased CKA"].value == exact.value, "CKA of fewer rows is larger, so all rows are summed"
