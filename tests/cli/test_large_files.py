"""Files beyond the memory budget are compared by sums over their rows."""

import json

import numpy as np
import pytest

import shesha
from shesha.cli import _large_files as large
from shesha.moments import Moments

CHANCE = {"calibrate": False, "n_draws": 20, "alpha": 0.05}


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 12)).astype(np.float32)
    Y = (X @ rng.standard_normal((12, 9)) + rng.standard_normal((20_000, 9))).astype(np.float32)
    paths = [tmp_path / "a.npy", tmp_path / "b.npy"]
    for path, rows in zip(paths, (X, Y), strict=True):
        np.save(path, rows)
    return paths, X, Y


def test_what_does_not_fit_is_counted_in_one_pass(invoke, files, tmp_path, monkeypatch):
    paths, X, Y = files
    monkeypatch.setenv("SHESHA_MEMORY", "1M")
    out = tmp_path / "found.json"
    done = invoke("compare", *paths, "--measures", "CKA,CCA", "--calibrate", "--json", out)
    assert done.status == 0
    assert "reading all rows in one pass" in done.err
    monkeypatch.delenv("SHESHA_MEMORY")
    expected = shesha.compare(X, Y, ["CKA", "CCA"])
    for score in json.loads(out.read_text())["scores"]:
        assert score["value"] == pytest.approx(expected[score["measure"]].value, rel=1e-12)
        assert score["interval_low"] < score["value"] < score["interval_high"]
    assert not list((tmp_path / "cache" / "shesha").iterdir())


def test_what_fits_is_compared_as_ever(invoke, files):
    paths, _, _ = files
    assert not large.need_stretches(paths, ["CKA"], plain=True)
    assert "one pass" not in invoke("compare", *paths, "--measures", "CKA").err


def test_what_needs_rows_is_refused_with_the_way_out(invoke, files, monkeypatch):
    paths, _, _ = files
    monkeypatch.setenv("SHESHA_MEMORY", "1M")
    assert large.need_stretches(paths, ["CKA"], plain=True)
    assert not large.need_stretches(paths, ["CKA"], plain=False)
    assert not large.need_stretches(paths, ["CKNNA", "RTD"], plain=True)
    with pytest.raises(ValueError, match=r"RTD of .* pass fewer rows, or raise SHESHA_MEMORY$"):
        invoke("compare", *paths, "--measures", "RTD", "--shift", "--calibrate")
    with pytest.raises(ValueError, match=r"compare shesha.Moments.of"):
        invoke("compare", *paths, "--measures", "CKA", "--calibrate", "--shift")


def test_neighbours_and_distances_are_sampled_beside_exact_sums(invoke, files, tmp_path, monkeypatch):
    paths, X, Y = files
    monkeypatch.setenv("SHESHA_MEMORY", "4M")
    out = tmp_path / "found.json"
    sample = ["--queries", 100, "--error", 0.01]
    done = invoke("compare", *paths, "--measures", "CKA,RSA,mutual kNN", *sample, "--json", out)
    assert done.status == 0
    monkeypatch.delenv("SHESHA_MEMORY")
    expected = shesha.compare(X, Y, ["CKA", "mutual kNN"])
    found = {score["measure"]: score for score in json.loads(out.read_text())["scores"]}
    assert found["CKA"]["value"] == pytest.approx(expected["CKA"].value, rel=1e-12)
    neighbours = found["mutual kNN"]
    assert 0 < neighbours["sampling_error"] <= 0.01
    assert abs(neighbours["value"] - expected["mutual kNN"].value) < 4 * neighbours["sampling_error"]
    assert "pairs of rows: Monte Carlo standard error" in found["RSA"]["note"]


def test_an_interrupted_pass_resumes(files, tmp_path, monkeypatch):
    paths, X, Y = files
    monkeypatch.setenv("SHESHA_MEMORY", "1M")
    add = Moments.add_unchecked

    def interrupt(self, sides):
        if len(self):
            raise KeyboardInterrupt
        add(self, sides)

    monkeypatch.setattr("shesha.moments.read_ahead._PANELS", 1)
    monkeypatch.setattr("shesha.moments.read_ahead.panel_rows", lambda widths: 4096)
    monkeypatch.setattr(Moments, "add_unchecked", interrupt)
    with pytest.raises(KeyboardInterrupt):
        large.compare_large(paths, ["CKA"], {}, seed=0, **CHANCE)
    assert len(list((tmp_path / "cache" / "shesha").iterdir())) == 1
    monkeypatch.setattr(Moments, "add_unchecked", add)
    monkeypatch.delenv("SHESHA_MEMORY")
    found = large.compare_large(paths, ["CKA"], {}, seed=0, **CHANCE)
    assert found["CKA"].value == pytest.approx(shesha.compare(X, Y, "CKA")["CKA"].value, rel=1e-12)
