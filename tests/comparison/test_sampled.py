"""Scores from sampled rows and pairs: those of all rows when all are drawn, and errors that hold."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import t as student_t

import shesha.measures as measures
from shesha import Rdm, compare
from shesha.comparison.sampled_scores import Sampling, sampled_scores
from shesha.views.representation import RowSource

ROWS = [
    "Jaccard",
    "Jaccard(k=3, metric=euclidean)",
    "RankSim",
    "RankSim(k=4, metric=correlation)",
    "2nd-Cos",
    "2nd-Cos(k=5, similarities=True)",
    "mutual kNN",
    "mutual kNN(k=7, metric=cosine)",
    "cycle kNN(k=3)",
]
PAIRS = [
    "RSA",
    "RSA(metric=euclidean, method=pearson)",
    "RSA(metric=cosine)",
    "RDM drift",
    "RSMDiff(norm=frobenius)",
    "DistCorr",
]


def related(n=300, seed=0, noise=0.7):
    rng = np.random.default_rng(seed)
    latent = rng.standard_normal((n, 5))
    return tuple(latent @ rng.standard_normal((5, d)) + noise * rng.standard_normal((n, d)) for d in (12, 9))


def sample(names, X, Y, **options):
    found = sampled_scores(measures.choose(names), RowSource(X), RowSource(Y, "Y"), Sampling(**options))
    return {score.name: score for score in found}


def exact(X, Y, name):
    return measures.get(name).score(X, Y)


@pytest.mark.parametrize("name", ROWS)
def test_all_rows_as_queries_give_the_value_of_all_rows(name):
    X, Y = related()
    (score,) = sample(name, X, Y, queries=len(X) + 50).values()
    assert_allclose(score.value, exact(X, Y, name), rtol=1e-13)
    assert score.sampling_error == 0
    assert_allclose((score.sampling_low, score.sampling_high), score.value, rtol=1e-13)


@pytest.mark.parametrize("name", [name for name in PAIRS if name != "DistCorr"])
def test_all_pairs_give_the_value_of_all_pairs(name):
    X, Y = related()
    (score,) = sample(name, X, Y, pairs=10**6).values()
    assert_allclose(score.value, exact(X, Y, name), rtol=1e-12)
    assert score.sampling_error == 0


@pytest.mark.parametrize("kind", ["copies", "whole numbers", "one-hot", "half are equal"])
@pytest.mark.parametrize("name", ["mutual kNN(k=4, metric=euclidean)", "Jaccard(k=4, metric=euclidean)"])
def test_ties_are_broken_as_in_the_search_of_all_rows(rng, kind, name):
    X = {
        "copies": lambda: np.repeat(rng.standard_normal((60, 4)), 5, axis=0),
        "whole numbers": lambda: rng.integers(0, 3, (300, 3)) * 1.0,
        "one-hot": lambda: np.eye(6)[rng.integers(0, 6, 300)],
        "half are equal": lambda: np.r_[np.ones((150, 4)), rng.standard_normal((150, 4))],
    }[kind]()
    Y = related()[1]
    (score,) = sample(name, X, Y, queries=300).values()
    assert_allclose(score.value, exact(X, Y, name), rtol=1e-13)


def covered(names, runs, **options):
    """Share of runs whose interval holds the value of all rows, by measure."""
    X, Y = related()
    truth = {name: exact(X, Y, name) for name in names}
    hits = dict.fromkeys(names, 0)
    for seed in range(runs):
        for name, score in sample(names, X, Y, seed=seed, **options).items():
            hits[name] += score.sampling_low <= truth[name] <= score.sampling_high
    return {name: count / runs for name, count in hits.items()}


def test_intervals_of_queries_hold_the_value_of_all_rows():
    rates = covered(["Jaccard", "RankSim", "2nd-Cos", "mutual kNN(metric=cosine)"], 200, queries=60)
    # Two standard errors of a rate of 95 % among 200 are 3 %.
    assert all(0.91 <= rate <= 0.99 for rate in rates.values()), rates


def test_intervals_of_pairs_hold_the_value_of_all_pairs():
    rates = covered(["RSA", "RSA(metric=euclidean, method=pearson)", "RDM drift", "DistCorr"], 200, pairs=3000)
    assert all(0.91 <= rate <= 0.99 for rate in rates.values()), rates


def test_the_error_falls_with_the_root_of_the_sample():
    X, Y = related(2000)
    for name, option in (("Jaccard", "queries"), ("RSA", "pairs")):
        few, many = (sample(name, X, Y, **{option: n})[name].sampling_error for n in (200, 800))
        assert 1.6 < few / many < 2.8


@pytest.mark.parametrize("name", ["mutual kNN(metric=cosine)", "RSA", "DistCorr"])
def test_sampling_stops_when_the_error_is_small_enough(name):
    X, Y = related(3000)
    (score,) = sample(name, X, Y, error=0.004).values()
    assert 0.001 < score.sampling_error <= 0.004
    assert abs(score.value - exact(X, Y, name)) < 5 * 0.004


def test_where_no_row_differs_from_another_the_interval_still_has_a_width(rng):
    X, Y = rng.standard_normal((2, 5000, 6))
    (score,) = sample("mutual kNN(k=1, metric=cosine)", X, Y, queries=40).values()
    assert score.value == score.sampling_error == 0
    assert 0.05 < score.sampling_high < 0.1
    same = sample("mutual kNN(k=1, metric=cosine)", X, X, queries=40)["mutual kNN(k=1, metric=cosine)"]
    assert (same.value, same.sampling_high) == (1, 1) and 0.9 < same.sampling_low < 0.95


def test_one_seed_gives_one_sample_and_another_another():
    X, Y = related()
    first, again, other = (sample("Jaccard", X, Y, queries=50, seed=seed)["Jaccard"].value for seed in (1, 1, 2))
    assert first == again != other


def test_compare_says_what_was_sampled():
    X, Y = related()
    found = compare(X, Y, ["Jaccard", "RSA", "CKA"], queries=100, pairs=500)
    assert found["CKA"].value == measures.cka(X, Y) and found["CKA"].sampling_error is None
    assert "estimated from 100 of 300 rows as queries, each compared with all rows" in found["Jaccard"].notes[0]
    assert "estimated from 500 of 44,850 pairs of rows: Monte Carlo standard error" in found["RSA"].notes[0]
    assert "Monte Carlo" in str(found)


def test_what_fills_the_memory_is_sampled_where_all_pairs_are_many(monkeypatch):
    X, Y = related(3000)
    monkeypatch.setenv("SHESHA_MEMORY", "80M")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = compare(X, Y, ["RSA", "CKA"])
    assert found["CKA"].value == measures.cka(X, Y)
    assert found["RSA"].sampling_error > 0
    monkeypatch.delenv("SHESHA_MEMORY")
    assert abs(found["RSA"].value - measures.rsa(X, Y)) < 4 * found["RSA"].sampling_error


def test_measures_that_cannot_be_estimated_say_why():
    X, Y = related()
    found = sample(["RSMDiff", "RSA", "CKA"], X, Y, pairs=500)
    assert found["RSMDiff"].reason == "the spectral norm needs all pairs of rows: use norm=frobenius"
    assert found["CKA"].reason == "cannot be estimated from sampled rows or pairs"
    assert found["RSA"].has_value


def test_distances_and_tokens_have_no_rows_to_sample(rng):
    for sides in ((Rdm(np.ones((9, 9)) - np.eye(9)), Rdm(1 - np.eye(9))), rng.standard_normal((2, 30, 4, 5))):
        assert (
            "a sample needs two matrices of features"
            in compare(*sides, "Jaccard(k=3)", queries=5)["Jaccard(k=3)"].reason
        )


def test_degenerate_rows_give_a_reason(rng):
    X, Y = related()
    zero = X.copy()
    zero[17] = 0
    assert "zero rows have no cosine distance: rows 17" in sample("Jaccard", zero, Y, queries=50)["Jaccard"].reason
    flat = np.ones_like(X)
    assert not sample("RSA(metric=euclidean)", flat, Y, pairs=500)["RSA(metric=euclidean)"].has_value
    assert not sample("DistCorr", flat, Y, pairs=900)["DistCorr"].has_value
    few = "5 nearest neighbours need more than 5 rows, got 5"
    assert sample("Jaccard(k=5)", X[:5], Y[:5], queries=5)["Jaccard(k=5)"].reason == few
    with pytest.raises(ValueError, match=r"Y must have as many rows as X \(300\), got 299"):
        sample("Jaccard", X, Y[:-1], queries=50)


def test_numbers_that_are_not_finite_are_named():
    X, Y = related()
    X[211, 3] = np.nan
    for name, options in (("Jaccard", {"queries": 50}), ("RSA", {"pairs": 10**6})):
        with pytest.raises(ValueError, match="X must be finite, got NaN or infinity in rows 211"):
            sample(name, X, Y, **options)


def test_equal_rows_and_far_rows_are_no_trouble(rng):
    X, Y = related(2500)
    X[7] = 1e12
    X[100:150] = X[100]
    name = "mutual kNN(k=5, metric=euclidean)"
    (score,) = sample(name, X, Y, queries=2500).values()
    assert_allclose(score.value, exact(X, Y, name), rtol=1e-12)


@pytest.mark.parametrize(("name", "option"), [("Jaccard", "queries"), ("RSA", "pairs")])
def test_intervals_are_students_of_as_many_draws_as_were_made(name, option):
    X, Y = related()
    for confidence in (0.5, 0.95):
        score = sample(name, X, Y, confidence=confidence, **{option: 7 if option == "queries" else 40})[name]
        n = 7 if option == "queries" else 40
        half = student_t.ppf(0.5 + confidence / 2, n - 1) * score.sampling_error
        assert score.sampling_high - score.value == pytest.approx(min(half, 1 - score.value), rel=1e-9)
