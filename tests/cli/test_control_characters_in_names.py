"""Control characters in names from files become escapes, so that no name changes a terminal or forges a line."""

import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import shesha
from shesha.io import open_file, read_labels
from shesha.io.array_selection import short_paths
from shesha.support.wording import csv_text

ROOT = Path(__file__).parents[2]

HOSTILE = "layer\x1b[2J\nVerdict: all is well"
ESCAPED = "layer\\x1b[2J\\nVerdict: all is well"


def write(kind, path, rng):
    path = path.with_suffix(kind)
    X = rng.standard_normal((12, 5))
    frame = pd.DataFrame(X, columns=[HOSTILE, "b", "c", "d", "e"])
    if kind == ".npz":
        np.savez(path, **{HOSTILE: X, "ids": np.array([f"{HOSTILE} {i}" for i in range(12)])})
        return path, ESCAPED
    if kind == ".h5ad":
        anndata = pytest.importorskip("anndata")
        names = [f"{HOSTILE} {i}" for i in range(12)]
        data = anndata.AnnData(X, obs=pd.DataFrame(index=names))
        data.obsm[HOSTILE] = X[:, :4]
        data.write(path)
        return path, f"obsm/{ESCAPED}"
    frame.insert(0, "doc_id", [f"{HOSTILE} {i}" for i in range(12)])
    frame.to_csv(path, index=False) if kind == ".csv" else frame.to_parquet(path, index=False)
    return path, ESCAPED


@pytest.mark.parametrize("kind", [".npz", ".csv", ".parquet", ".h5ad"])
def test_names_from_files_stay_in_their_line(tmp_path, rng, kind, invoke_main, monkeypatch):
    path, key = write(kind, tmp_path / "hostile", rng)
    found = open_file(path)
    names = [*found.representations, *found.skipped, *found.labels_available, *found.row_names.values]
    assert not any("\x1b" in name or "\n" in name for name in names)
    assert found.row_names.values[3] == f"{ESCAPED} 3"
    chosen = open_file(path, keys=[key])
    assert next(iter(chosen.representations.values())).shape[0] == 12
    monkeypatch.chdir(tmp_path)
    ended = invoke_main("audit", path.name, "--bootstrap", "0", "--permutations", "0")
    for text in (ended.out, ended.err):
        assert "\x1b[2J" not in text
        assert not any(line.startswith("Verdict: all is well") for line in text.splitlines())


@pytest.mark.parametrize("more", [(), ("--key", HOSTILE), ("--labels", HOSTILE), ("--html", f"{HOSTILE}/a.html")])
def test_names_of_files_and_values_of_options_stay_in_their_line(tmp_path, rng, invoke_main, monkeypatch, more):
    """Commands to copy, errors and what was written contain them."""
    monkeypatch.chdir(tmp_path)
    np.save(f"{HOSTILE}.npy", rng.standard_normal((12, 5)))
    assert short_paths([f"{HOSTILE}.npy", "b.npy"]) == [f"{ESCAPED}.npy", "b.npy"]
    ended = invoke_main("audit", f"{HOSTILE}.npy", "--bootstrap", "0", "--permutations", "0", *more)
    assert ESCAPED.split()[0] in ended.out + ended.err
    for line in (ended.out + ended.err).splitlines():
        assert not line.strip().startswith("Verdict")
        assert "\x1b" not in line


@pytest.mark.parametrize(
    "words", [("audit", "--NAME"), ("doctor", "NAME"), ("monitor", "NAME"), ("--NAME",), ("NAME",)]
)
def test_arguments_in_usage_errors_stay_in_their_line(invoke_main, words):
    ended = invoke_main(*(word.replace("NAME", f"{HOSTILE}\u202e") for word in words))
    assert (ended.status, ended.out) == (2, "")
    assert "layer\\x1b[2J" in ended.err
    assert not any(mark in ended.err for mark in ("\x1b", "\nVerdict", "\u202e"))


def test_sentences_and_labels_of_results_are_escaped(rng):
    X = rng.standard_normal((40, 6))
    audit = shesha.audit({HOSTILE: X, "b": X**3}, n_bootstrap=0, n_permutations=19, seed=0)
    within = shesha.compare_within(X, X, np.repeat([HOSTILE, "b"], 20), "CKA", n_permutations=19)
    for text in (audit.sentence(), audit.full_text(), within.sentence(), str(within), repr(within.classes)):
        assert "\x1b" not in text
        assert "Verdict" in text or "all is well" not in text
        assert not any(line.startswith("Verdict") for line in text.splitlines())


def test_labels_from_files_are_escaped(tmp_path):
    pd.DataFrame({"kind": [HOSTILE, "b", "c"], "x": range(3)}).to_csv(tmp_path / "y.csv", index=False)
    assert read_labels(tmp_path / "y.csv", "kind").tolist() == [ESCAPED, "b", "c"]
    np.save(tmp_path / "y.npy", np.array([HOSTILE, "b"]))
    assert read_labels(tmp_path / "y.npy").tolist() == [ESCAPED, "b"]


def test_names_that_differ_only_in_control_characters_are_refused(tmp_path, rng):
    np.savez(tmp_path / "a.npz", **{"a\n": rng.standard_normal((9, 4)), "a\\n": rng.standard_normal((9, 4))})
    with pytest.raises(ValueError, match="must have distinct names"):
        open_file(tmp_path / "a.npz")


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.filterwarnings("error")
def test_decimal_commas_are_read(tmp_path, rng, separator):
    X = np.round(rng.standard_normal((30, 4)), 4)
    path = tmp_path / ("x.tsv" if separator == "\t" else "x.csv")
    pd.DataFrame(X, columns=list("abcd")).to_csv(path, sep=separator, decimal=",", index=False)
    found = open_file(path)
    assert np.array_equal(next(iter(found.representations.values())), X)
    assert "comma" in str(found.skipped)


@pytest.mark.parametrize(
    "lines",
    [
        ['"1,234","2,345"', '"5,678","9,012"'],
        ['"0,25",0.5', '"0,75",1.5'],
    ],
    ids=["thousands", "mixed"],
)
def test_ambiguous_commas_are_refused(tmp_path, lines):
    (tmp_path / "x.csv").write_text("\n".join(["a,b", *lines, *lines]) + "\n")
    with pytest.raises(ValueError, match="may be a decimal comma or separate thousands"):
        open_file(tmp_path / "x.csv")


FORMULAS = ["=1+1", "\uff1d1+1", "+cmd|' /C calc'!A0", "@SUM(A1)", "-1+1", "\t=1", " =1", "=", "\r=1"]
PLAIN = ["CKA", "-0.5", "+1e-3", "-", "--", "-12%", "3-4", ""]


def test_no_cell_or_column_of_a_table_for_readers_is_a_formula():
    frame = pd.DataFrame({"=cmd": FORMULAS + PLAIN, "number": -1.5})
    read = pd.read_csv(io.StringIO(csv_text(frame)), dtype=str, keep_default_na=False)
    assert list(read) == ["'=cmd", "number"]
    assert all(cell.startswith("'") for cell in read["'=cmd"][: len(FORMULAS)])
    assert read["'=cmd"][len(FORMULAS) :].tolist() == PLAIN
    assert set(read["number"]) == {"-1.5"}


def test_every_csv_file_for_readers_is_written_in_one_place():
    """Other files in this format are data, which must be read back as they were."""
    data = {"io/_save.py", "io/_unsupported_formats.py", "framework/run_files.py", "support/wording.py"}
    packages = [Path(shesha.__file__).parent, *(ROOT / "packages").glob("*/src/*")]
    found = {path for package in packages for path in package.rglob("*.py") if ".to_csv(" in path.read_text()}
    assert {"/".join(path.parts[-2:]) for path in found} == data
