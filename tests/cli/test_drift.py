"""`shesha drift`: the numbers are those of `two_sample`, and samples of dependent rows are not decided."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import pairwise_distances

from shesha.drift import two_sample, two_sample_tests

GENES = ["CD4", "GATA1", "IL2", "ACTB", "FOXP3"]


def sample(seed, n=60, scale=1.0):
    return scale * np.random.default_rng(seed).standard_normal((n, 5))


def test_two_files(invoke_main, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("old.npy", sample(0, 80))
    np.savez("new.npz", same=sample(1), wide=sample(2, scale=1.6))
    ended = invoke_main("drift", "old.npy", "new.npz", "--key", "old", "--key", "wide", "--json", "found.json")
    assert "The two samples differ (energy, mmd" in ended.out
    found = json.loads((tmp_path / "found.json").read_text())
    assert [each["name"] for each in found["numbers"]] == ["energy", "mmd", "c2st"]
    X, Y = sample(0, 80), sample(2, scale=1.6)
    across, first, second = (pairwise_distances(a, b).mean() for a, b in ((X, Y), (X, X), (Y, Y)))
    assert found["numbers"][0]["value"] == pytest.approx(2 * across - first - second)
    ended = invoke_main(
        "drift", "old.npy", "new.npz", "--key", "old", "--key", "same", "--test", "energy", "--plot", "a.png"
    )
    assert "No difference between the two samples was found (80 and 60 rows, level 0.05)." in ended.out


def test_the_numbers_are_those_of_each_test():
    X, Y = sample(0), sample(1, scale=1.3)
    found = two_sample_tests(X, Y, tests=["energy", "sliced wasserstein"])
    alone = [two_sample(X, Y, test=each.name) for each in found]
    p = sorted(each.p_value for each in alone)
    assert [each.p_value for each in found] == [each.p_value for each in alone]
    assert sorted(each.corrected_p_value for each in found) == pytest.approx([min(1, 2 * p[0]), max(2 * p[0], p[1])])


def test_rows_that_depend_on_each_other_are_not_decided():
    X, Y = (np.repeat(sample(seed, 20, 2.0), 6, axis=0) + 0.1 * sample(seed + 9, 120) for seed in (0, 1))
    found = two_sample_tests(X, Y + 0.5, tests=["energy"])
    assert found.significant
    assert "cannot be decided" in found.headline
    assert "! p-values are too small" in str(found)


def test_equal_samples_seldom_differ():
    hits = sum(
        bool(two_sample_tests(sample(k, 20), sample(k + 99, 20), n_permutations=79).significant) for k in range(60)
    )
    assert hits <= 8


def test_features_are_matched_by_name(tmp_path, invoke_main, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first, second = (pd.DataFrame(sample(seed) + np.arange(5), columns=GENES) for seed in (0, 1))
    mixed = second[second.columns[::-1]]
    first.to_csv("first.csv", index=False)
    mixed.to_csv("mixed.csv", index=False)
    expected, found = (two_sample_tests(first, window, tests=["energy"]) for window in (second, mixed))
    assert found.numbers == expected.numbers
    assert found.inputs == ("features matched by name, in another order in window",)
    ended = invoke_main("drift", "first.csv", "mixed.csv", "--test", "energy", "--json", "found.json")
    assert "features matched by name, in another order in mixed.csv" in " ".join(ended.out.split())
    assert json.loads(Path("found.json").read_text())["numbers"][0]["value"] == pytest.approx(expected.numbers[0].value)


@pytest.mark.filterwarnings("default::shesha.support.warnings.CalibrationWarning")
@pytest.mark.parametrize(("n_shared", "remedy"), [(60, "`shesha diff`"), (30, "leave these rows out"), (0, "")])
def test_rows_with_shared_identifiers_are_not_independent(tmp_path, invoke_main, monkeypatch, n_shared, remedy):
    monkeypatch.chdir(tmp_path)
    for name, start in (("first", 0), ("second", 60 - n_shared)):
        ids = [f"p-{row}" for row in range(start, start + 60)]
        pd.DataFrame(sample(start), columns=GENES).assign(id=ids).to_csv(f"{name}.csv", index=False)
    ended = invoke_main("drift", "first.csv", "second.csv", "--test", "energy")
    text = " ".join(ended.out.split())
    assert remedy in ended.err
    assert (f"Warning: both samples share {n_shared} of 60 ids, so" in text) == (n_shared > 0)
    start = f"Whether the samples differ cannot be decided, because both samples share {n_shared} of 60 ids"
    assert text.startswith(start) == (n_shared > 0)


SAME = {
    "all": (lambda X, Y: X[::-1], "both samples share 60 of 60 rows with equal values"),
    "some": (lambda X, Y: np.vstack([X[:9], Y]), "both samples share 9 of 60 rows with equal values"),
    "none": (lambda X, Y: Y, ""),
    "counts": (lambda X, Y: np.round(np.abs(Y)), ""),
}


@pytest.mark.filterwarnings("ignore::shesha.support.warnings.CalibrationWarning")
@pytest.mark.parametrize("kind", SAME)
def test_rows_with_equal_values_are_not_independent(kind):
    change, expected = SAME[kind]
    first = np.round(np.abs(sample(0))) if kind == "counts" else sample(0)
    found = two_sample_tests(first, change(first, sample(1)), tests=["energy"])
    assert expected in found.headline and ("share" in found.headline) == bool(expected)


def test_features_that_alone_separate_samples_are_named(tmp_path, invoke_main, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, week in (("first", 1), ("second", 5)):
        frame = pd.DataFrame(sample(week), columns=GENES).assign(dose=week, cost=1e4 * sample(week + 9)[:, 0])
        frame.to_csv(f"{name}.csv", index=False)
    text = " ".join(invoke_main("drift", "first.csv", "second.csv", "--test", "energy").out.split())
    assert "Warning: feature dose is constant in each sample with another value, which alone separates them" in text
    assert "Warning: feature cost is 100.0% of the variance, so distances depend on little else" in text


def test_a_window_of_equal_rows_is_stated():
    found = two_sample_tests(sample(0), np.ones((60, 5)), tests=["energy"])
    assert "warning: all 60 checked rows of the window are equal, as those of a broken encoder are" in found.inputs


LENGTHS = {
    "normalised": (lambda X: X / np.linalg.norm(X, axis=1, keepdims=True), "Row lengths are 1 in all rows, and were"),
    "longer": (lambda X: 2 * X, "Row lengths are"),
    "other directions": (lambda X: 2 * X + 9, "with rows of length 1, 2 of 2 tests find a difference"),
    "as long": (lambda X: X + np.array([1.0, -1.0, 1.0, -1.0, 0.0]), ""),
}


@pytest.mark.parametrize("kind", LENGTHS)
def test_samples_that_differ_in_the_lengths_of_rows_are_named(kind):
    change, expected = LENGTHS[kind]
    found = two_sample_tests(5 + sample(0), change(5 + sample(1)), tests=["energy", "mmd"])
    assert expected in found.headline and bool(found.lengths) == bool(expected)
    only = "with rows of length 1, no test finds a difference" in found.headline
    assert only == (kind in ("normalised", "longer"))


@pytest.mark.parametrize(("own", "named"), [(True, True), (False, False)])
def test_samples_that_were_standardised_apart_are_named(own, named):
    first, second = sample(0), 2 + sample(1)
    means = (first.mean(axis=0), second.mean(axis=0) if own else first.mean(axis=0))
    found = two_sample_tests(first - means[0], (second - means[1]).astype(np.float32), tests=["energy"])
    assert any("all features have mean 0 in both samples" in text for text in found.inputs) == named


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["a.npy", "a.npy"],
            "WINDOW must be another file than REFERENCE, or --key must name two arrays of it",
        ),
        (["a.npy", "two.npz"], "two.npz must have one matrix, got x, y: choose one with --key"),
        (["a.npy", "b.npy", "--test", "t"], "--test must be one of 'energy', 'mmd', 'sliced wasserstein', 'c2st'"),
        (["a.npy", "b.npy", *["--key", "a"] * 3], "--key must be passed at most twice"),
        (["genes.csv", "fewer.csv"], "fewer.csv must have the features of genes.csv, got 4 shared names of 5 and 4"),
    ],
)
def test_bad_input(invoke_main, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    np.save("a.npy", sample(0))
    np.save("b.npy", sample(1))
    np.savez("two.npz", x=sample(2), y=sample(3))
    genes = pd.DataFrame(sample(0), columns=GENES)
    genes.to_csv("genes.csv", index=False)
    genes.iloc[:, :4].to_csv("fewer.csv", index=False)
    ended = invoke_main("drift", *arguments)
    assert ended.status == 2
    assert message in ended.err


def test_rows_without_numbers_are_refused_or_left_out(invoke_main, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).standard_normal((40, 5))
    np.save("a.npy", X)
    np.save("b.npy", np.where(np.arange(40)[:, None] == 7, np.nan, X + 0.1))
    refused = invoke_main("drift", "a.npy", "b.npy")
    assert refused.status == 2 and "in rows 7 (1 of 40); --missing drop" in refused.err
    used = invoke_main("drift", "a.npy", "b.npy", "--missing", "drop")
    assert used.out.startswith("Only 39 of 40 rows used: 1 with NaN left out.")
