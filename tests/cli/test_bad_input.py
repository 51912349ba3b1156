"""Bad input ends the program with status 2 and one line that says what is wrong and what would be right."""

import os
import re

import numpy as np
import pandas as pd
import pytest

QUICK = ("--bootstrap", "0", "--permutations", "19")


@pytest.fixture
def folder(tmp_path, X):
    """A good file of each kind that is needed, and all the bad ones."""
    np.save(tmp_path / "good.npy", X)
    np.savez(tmp_path / "layers.npz", first=X, second=X**3, code=np.arange(60) % 3)
    pd.DataFrame(X[:, :5], columns=list("abcde")).assign(kind=["x", "y", "z"] * 20).to_csv(
        tmp_path / "rows.csv", index=False
    )
    np.save(tmp_path / "short.npy", np.arange(30) % 3)
    np.save(tmp_path / "unique.npy", np.arange(60))
    (tmp_path / "truncated.npy").write_bytes((tmp_path / "good.npy").read_bytes()[:500])
    (tmp_path / "model.pkl").write_bytes(b"x")
    return tmp_path


CASES = {
    "a missing file": (["nowhere.npy"], "FILE must be an existing file, got nowhere.npy"),
    "a truncated file": (["truncated.npy"], r"truncated.npy must be a complete .npy file, got .*; write it again"),
    "an unsupported format": (
        ["model.pkl"],
        r"Pickles are never read, because they can run code, got 'model.pkl'; to convert it:\n    import json, pickle",
    ),
    "labels of another length": (
        ["good.npy", "--labels", "short.npy"],
        "--labels must have one label for each of the 60 rows, got 30",
    ),
    "labels that name rows": (
        ["good.npy", "--labels", "unique.npy"],
        "--labels must contain classes, got 60 different labels for 60 rows",
    ),
    "a missing label column": (
        ["rows.csv", "--labels", "nothing"],
        "--labels must be a file, or a column among a, b, c, d, e, kind in rows.csv, got 'nothing'",
    ),
    "an unknown key": (
        ["layers.npz", "--key", "third"],
        "--key must be among first, second in layers.npz, got 'third'",
    ),
    "too few permutations": (
        ["good.npy", "--permutations", "3"],
        "--permutations must be at least 19, or 0 for none, got 3",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_one_line_says_what_is_wrong(folder, invoke_main, monkeypatch, case):
    monkeypatch.chdir(folder)
    args, message = CASES[case]
    ended = invoke_main("audit", *args)
    assert (ended.status, ended.out) == (2, "")
    assert re.fullmatch(rf"shesha: .*{message}.*\n", ended.err, re.DOTALL)


def test_what_is_no_option_or_command_is_refused_with_a_hint(invoke_main):
    ended = invoke_main("audit", "good.npy", "--jsn", "x")
    assert ended.status == 2
    assert "--json" in ended.err
    ended = invoke_main("adit")
    assert ended.status == 2
    assert "Try 'shesha --help'" in ended.err
    assert "Missing argument 'FILE...'" in invoke_main("audit").err


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
@pytest.mark.parametrize("name", ["a.txt", "a.safetensors", "a.json"])
def test_pipes_in_a_folder_are_not_opened(tmp_path, invoke_main, X, name):
    np.save(tmp_path / "good.npy", X)
    os.mkfifo(tmp_path / name)
    assert "good" in invoke_main("audit", tmp_path, *QUICK).out


def test_a_representation_with_nan_is_named_and_the_others_are_scored(folder, process, X):
    gaps = X.copy()
    gaps[[3, 40], 2] = np.nan
    np.savez(folder / "m.npz", good=X, gaps=gaps)
    ended = process("audit", "m.npz", *QUICK)
    assert ended.status == 2
    assert "! gaps: NaN or infinite entries: 2 (rows 3, 40)" in ended.out
    assert "\n  good  " in ended.out
    assert ended.err == "shesha: no score for gaps\n"


def test_errors_that_are_not_bad_input_keep_their_traceback(folder, invoke_main, monkeypatch):
    def broken(*args, **options):
        raise AssertionError("a defect of the library")

    monkeypatch.setattr("shesha.auditing.audit", broken)
    with pytest.raises(AssertionError, match="a defect of the library"):
        invoke_main("audit", folder / "good.npy")


def test_more_arrays_than_anybody_means_are_refused_at_once(invoke_main, tmp_path):
    np.savez(tmp_path / "many.npz", **{f"a{at}": np.ones((4, 3)) for at in range(1_001)})
    ended = invoke_main("audit", tmp_path / "many.npz")
    assert ended.status == 2
    assert "FILE must contain at most 1,000 arrays, got 1,001: choose some with --key" in ended.err


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["audit", ""], "FILE"),
        (["compare", "", "b.npy"], "FILE"),
        (["audit", "a.npy", "--html", ""], "--html"),
    ],
)
def test_an_empty_path_is_not_the_current_directory(invoke_main, words, name):
    ended = invoke_main(*words)
    assert (ended.status, ended.out) == (2, "")
    assert f"{name} must not be empty, got ''" in ended.err
