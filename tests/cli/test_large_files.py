"""Files beyond the memory budget are compared by sums over their rows."""

import json

import numpy as np
import pytest

import shesha
from shesha.cli import compare as large
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
        assert score["value"] == pytest.approx(expected[score["name"]].value, rel=1e-12)
        assert score["low"] < score["value"] < score["high"]
    assert not list((tmp_path / "cache" / "shesha").iterdir())


def test_what_needs_rows_is_refused_with_the_way_out(invoke, files, monkeypatch):
    paths, _, _ = files
    monkeypatch.setenv("SHESHA_MEMORY", "1M")
    assert large.needs_stretches(paths, ["CKA"], plain=True)
    assert not large.needs_stretches(paths, ["CKA"], plain=False)
    assert not large.needs_stretches(paths, ["CKNNA", "RTD"], plain=True)
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
    found = {score["name"]: score for score in json.loads(out.read_text())["scores"]}
    assert found["CKA"]["value"] == pytest.approx(expected["CKA"].value, rel=1e-12)
    neighbours = found["mutual kNN"]
    assert 0 < neighbours["sampling_error"] <= 0.01
    assert abs(neighbours["value"] - expected["mutual kNN"].value) < 4 * neighbours["sampling_error"]
    assert "pairs of rows: Monte Carlo standard error" in found["RSA"]["notes"][0]
    assert found["CKA"]["notes"] == ["exact, from all rows in one pass"]


def test_an_interrupted_pass_resumes(files, tmp_path, monkeypatch):
    paths, X, Y = files
    monkeypatch.setenv("SHESHA_MEMORY", "1M")
    add = Moments.add_unchecked

    def interrupt(self, sides):
        if len(self):
            raise KeyboardInterrupt
        add(self, sides)

    monkeypatch.setattr("shesha.moments.row_sources._PANELS", 1)
    monkeypatch.setattr("shesha.moments.row_sources.panel_rows", lambda widths: 4096)
    monkeypatch.setattr(Moments, "add_unchecked", interrupt)
    with pytest.raises(KeyboardInterrupt):
        large.compare_large(paths, ["CKA"], {}, seed=0, **CHANCE)
    assert len(list((tmp_path / "cache" / "shesha").iterdir())) == 1
    monkeypatch.setattr(Moments, "add_unchecked", add)
    monkeypatch.delenv("SHESHA_MEMORY")
    found = large.compare_large(paths, ["CKA"], {}, seed=0, **CHANCE)
    assert found["CKA"].value == pytest.approx(shesha.compare(X, Y, "CKA")["CKA"].value, rel=1e-12)


@pytest.fixture
def folders(files, tmp_path):
    _, X, Y = files
    for name, rows in (("model_a", X), ("model_b", Y)):
        (tmp_path / name).mkdir()
        for i in range(12):
            np.save(tmp_path / name / f"part-{i}.npy", rows[i * 1_600 : (i + 1) * 1_600])
    return [tmp_path / "model_a", tmp_path / "model_b"], X[: 12 * 1_600], Y[: 12 * 1_600]


def test_two_folders_of_shards_are_two_representations(invoke, folders, tmp_path):
    paths, X, Y = folders
    out = tmp_path / "found.json"
    done = invoke("compare", *paths, "--shards", "--measures", "CKA,CCA,RSA", "--calibrate", "--json", out)
    assert done.status == 0
    assert f"one pass (model_a: {len(X):,} rows x 12 features; model_b: {len(Y):,} rows x 9 features)" in done.err
    expected = shesha.compare(X, Y, ["CKA", "CCA"])
    found = {score["name"]: score for score in json.loads(out.read_text())["scores"]}
    for score in expected:
        assert found[score.name]["value"] == pytest.approx(score.value, rel=1e-12)
        assert found[score.name]["low"] < score.value < found[score.name]["high"]
    assert "Monte Carlo standard error" in found["RSA"]["notes"][0]
    assert not list((tmp_path / "cache" / "shesha").iterdir())


def test_shards_resume_and_a_changed_shard_begins_anew(folders, tmp_path, monkeypatch):
    paths, X, Y = folders
    add = Moments.add_unchecked

    def interrupt(self, sides):
        if len(self) > 5_000:
            raise KeyboardInterrupt
        add(self, sides)

    monkeypatch.setattr("shesha.moments.row_sources.stretch_rows", lambda sides: 2_048)
    monkeypatch.setattr(Moments, "add_unchecked", interrupt)
    with pytest.raises(KeyboardInterrupt):
        large.compare_large(paths, ["CKA"], {}, seed=0, **CHANCE)
    (state,) = (tmp_path / "cache" / "shesha").iterdir()
    assert len(Moments.load(state)) == 3 * 2_048
    counted = []
    monkeypatch.setattr(Moments, "add_unchecked", lambda self, sides: (counted.append(len(sides[0])), add(self, sides)))
    found = large.compare_large(paths, ["CKA"], {}, seed=0, **CHANCE)
    assert sum(counted) == len(X) - 3 * 2_048
    assert found["CKA"].value == pytest.approx(shesha.compare(X, Y, "CKA")["CKA"].value, rel=1e-12)
    before = large._state_file(paths)
    np.save(paths[0] / "part-3.npy", np.zeros((1_600, 12), dtype=np.float32))
    assert large._state_file(paths) != before


def test_folders_of_numbered_files_of_the_same_names_suggest_shards(invoke, folders):
    paths, _, _ = folders
    with pytest.raises(ValueError, match="compare two folders of consecutive rows with --shards"):
        invoke("compare", *paths, "--measures", "CKA")
    for folder in paths:
        for file in folder.iterdir():
            file.rename(file.with_name(file.name.replace("part-", "epoch-")))
    advice = "If the files are consecutive rows of two representations, pass --shards."
    assert advice in invoke("compare", *paths, "--measures", "CKA").err


def test_shards_need_two_folders_of_equal_rows(invoke, folders):
    paths, _, _ = folders
    with pytest.raises(ValueError, match=r"--shards needs two directories, got"):
        invoke("compare", paths[0], "--shards")
    with pytest.raises(ValueError, match=r"--shift must be left out with --shards, got both"):
        invoke("compare", *paths, "--shards", "--shift", "--calibrate")
    (paths[1] / "part-11.npy").unlink()
    with pytest.raises(ValueError, match=r"model_b must have as many rows as model_a \(19,200\), got 17,600"):
        invoke("compare", *paths, "--shards", "--measures", "CKA")


@pytest.mark.parametrize("way", ["shards", "moments", "copies"])
def test_parquet_files_read_in_pieces_must_have_their_ids_in_one_order(invoke, tmp_path, monkeypatch, way):
    pandas, rng = pytest.importorskip("pandas"), np.random.default_rng(0)
    pytest.importorskip("pyarrow")
    X, order = rng.standard_normal((90, 6)), rng.permutation(90)
    paths = [tmp_path / name if way == "shards" else tmp_path / f"{name}.parquet" for name in ("a", "b", "c")]
    for path, rows in zip(paths, (np.arange(90), order, np.arange(90)), strict=True):
        frame = pandas.DataFrame({"id": [f"u{i}" for i in rows], "embedding": list(X[rows])})
        if way == "shards":
            path.mkdir()
        for i in range(3 if way == "shards" else 0):
            frame[30 * i : 30 * i + 30].to_parquet(path / f"part-{i}.parquet")
        if way != "shards":
            frame.to_parquet(path, row_group_size=30)
    commands = {
        "shards": lambda *files: invoke("compare", *files, "--shards", "--measures", "CKA"),
        "moments": lambda *files: Moments.of(*files),
        "copies": lambda *files: invoke("audit", *files, "--quick"),
    }
    if way == "copies":
        monkeypatch.setenv("SHESHA_MEMORY", "12k")
    with pytest.raises(ValueError, match=rf"in the order of .*got u{order[0]} in row 0 in place of u0; sort both"):
        commands[way](paths[0], paths[1])
    if way != "copies":
        commands[way](paths[0], paths[2])


def test_a_cache_folder_that_cannot_be_written_does_not_fail_a_comparison(invoke, files, tmp_path, monkeypatch):
    paths, _, _ = files
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setenv("SHESHA_MEMORY", "1M")
    done = invoke("compare", *paths, "--measures", "CKA")
    assert done.status == 0
    assert "the state is not saved, because" in done.err
