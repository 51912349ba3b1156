"""Options that say which rows may take each other's place, from files or columns."""

import json

import numpy as np
import pandas as pd
import pytest

from shesha import compare

SUBJECT = np.repeat([f"s{i}" for i in range(8)], 5)


@pytest.fixture
def files(tmp_path, rng):
    """Two tables of the same rows, the first with labels among its columns."""
    X, Y = rng.standard_normal((40, 3)), rng.standard_normal((40, 4))
    table = pd.DataFrame(X, columns=["f0", "f1", "f2"]).assign(subject=SUBJECT, session=np.arange(40) // 20)
    table.to_csv(tmp_path / "x.csv", index=False)
    pd.DataFrame(Y, columns=list("abcd")).to_csv(tmp_path / "y.csv", index=False)
    (tmp_path / "subject.txt").write_text("\n".join(SUBJECT))
    np.savez(tmp_path / "a.npz", one=X, two=Y)
    return tmp_path, X, Y


def calibrated(invoke, tmp_path, *more):
    out = tmp_path / "out.json"
    ended = invoke(
        "compare", tmp_path / "x.csv", tmp_path / "y.csv", "--measures", "CKA", "--calibrate", *more, "--json", out
    )
    assert ended.status == 0, ended.err
    return json.loads(out.read_text()), ended


OPTIONS = {
    "groups": (["--groups", "subject"], {"groups": SUBJECT}, "whole groups"),
    "groups in blocks": (
        ["--groups", "subject", "--blocks", "session"],
        {"groups": SUBJECT, "blocks": np.arange(40) // 20},
        "within blocks, whole groups",
    ),
    "shift": (["--shift", "--blocks", "session"], {"shift": True, "blocks": np.arange(40) // 20}, "circular shifts"),
    "stretches": (["--block-length", "5"], {"block_length": 5}, "stretches of 5 rows"),
    "within": (["--within", "session"], {"within": np.arange(40) // 20}, "within strata"),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_columns_of_the_first_file_are_what_the_function_takes(invoke, files, name):
    """They are no features, as other columns beside numbered ones."""
    folder, X, Y = files
    given, design, text = OPTIONS[name]
    content, ended = calibrated(invoke, folder, *given)
    expected = compare(X, Y, "CKA", calibrate=True, seed=0, **design)
    assert content["exchanged"].startswith(text)
    for field in ("value", "p_value", "chance", "low"):
        assert content["scores"][0][field] == pytest.approx(getattr(expected.scores[0], field))
    assert f"Permuted under the null: {expected.exchanged}." in " ".join(ended.out.split())


def test_files_of_labels_serve_as_well(invoke, files):
    folder, *_ = files
    by_file, _ = calibrated(invoke, folder, "--groups", folder / "subject.txt", "--blocks", "session")
    by_column, _ = calibrated(invoke, folder, "--groups", "subject", "--blocks", "session")
    for one in (by_file, by_column):
        one["scores"][0]["seconds"] = 0
    assert by_file == by_column
