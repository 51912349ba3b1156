"""`shesha audit` of directories and many files."""

import numpy as np
import pandas as pd
import pytest

import shesha
from shesha import MeasureWarning
from shesha.auditing import stored_audits
from shesha.cli._options import name_options
from shesha.report import as_full_text, as_text
from shesha.results.audit_report import audit_page

QUICK = ("--bootstrap", "10", "--permutations", "19")


def full_report(audit):
    page = audit.add_statements(audit_page(audit, name_options))
    return "\n\n".join([as_full_text(page), as_text(audit.sentence_sections())])


@pytest.fixture
def folder(tmp_path, X, kinds):
    place = tmp_path / "steps"
    place.mkdir()
    for number in range(3):
        np.savez(place / f"step{number}.npz", hidden=X ** (number + 1), kind=kinds)
    return place


@pytest.fixture(scope="module")
def expected(X, kinds):
    arrays = {f"step{number}:hidden": X ** (number + 1) for number in range(3)}
    return shesha.audit(arrays, pd.Series(kinds, name="kind"), n_bootstrap=10, n_permutations=19)


@pytest.mark.parametrize("options", [(), ("--store",), ("--workers", 2)])
def test_a_directory_gives_the_report_of_its_arrays(invoke, folder, tmp_path, expected, options):
    kept = ("--store", tmp_path / "a.sqlite") if "--store" in options else options
    ended = invoke("audit", folder, "--labels", "kind", *QUICK, *kept, "--full")
    assert (ended.status, ended.out, ended.err) == (
        0,
        f"{full_report(expected)}\n",
        "",
    )


def test_a_second_run_computes_nothing(invoke, folder, tmp_path, expected, strict_json, monkeypatch):
    args = ("audit", folder, "--labels", "kind", *QUICK, "--store", tmp_path / "a.sqlite", "--json", "-")
    first = invoke(*args)
    monkeypatch.setattr(stored_audits, "audit_subject", lambda *_: pytest.fail("audits again"))
    assert invoke(*args) == first
    assert strict_json(first.out)["ranking"] == list(expected.ranking)


def test_columns_of_labels_are_no_features(invoke, tmp_path, strict_json):
    draw = np.random.default_rng(0)
    for name in ("a", "b"):
        rows = np.column_stack([draw.standard_normal((40, 4)), np.arange(40) % 3, np.arange(40) // 10])
        np.savetxt(tmp_path / f"{name}.csv", rows, delimiter=",", header="p,q,r,s,kind,day", comments="")
    for data in ((tmp_path,), (tmp_path / "a.csv", tmp_path / "b.csv")):
        args = (*data, "--labels", "kind", "--blocks", "day", *QUICK, "--json", "-")
        found = strict_json(invoke("audit", *args).out)
        assert [one["n_features"] for one in found["representations"]] == [4, 4]
        assert found["options"]["design"] == ["blocks"]


def test_a_file_that_cannot_be_read_is_left_out(invoke, folder, expected):
    (folder / "half.npy").write_bytes(b"\x93NUMPY")
    with pytest.warns(MeasureWarning) as told:
        ended = invoke("audit", folder, "--labels", f"{folder / 'step0.npz'}:kind", *QUICK, "--full")
    text = full_report(expected)
    lines = iter(ended.out.splitlines())
    assert ended.status == 0
    assert all(line in lines for line in text.splitlines()), "the report, with what was read after its answer"
    assert "half.npy must be a complete .npy file" in str(told[0].message)
    assert len(told) == 1
