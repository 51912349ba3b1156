"""`shesha bench`: results on standard output, everything else beside it, bad input ends with status 2."""

import importlib
import io
import json
import os
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import shesha_bench as benchmark
from shesha_bench import results, run_suite, suites
from shesha_bench.store import lock_run

TOYS = Path(__file__).parents[1] / "benchmark" / "runner"
MEASURES = ("--measure", "CKA", "--measure", "LinReg", "--measure", "MagDiff")
SIX = ("accuracy", "output", "label_randomization", "shortcut", "augmentation", "layer_monotonicity")


@pytest.fixture(scope="module")
def toys():
    """A suite called toy, run within this process."""
    pytest.importorskip("torch", reason="training writes checkpoints")
    with pytest.MonkeyPatch.context() as patching:
        patching.syspath_prepend(TOYS)
        for name in ("TOY_LOG", "TOY_CALLS", "TOY_FAULTS", "TOY_PAUSE", "TOY_SLEEP"):
            patching.delenv(name, raising=False)
        toy_run = importlib.import_module("toy_run")
        patching.setitem(suites._SUITES, "toy", lambda: (toy_run.task(),))
        patching.setitem(suites._OPTIONS, "toy", {})
        patching.setattr(run_suite, "_executor", lambda *_: toy_run.Inline())
        yield patching


@pytest.fixture(scope="module")
def store(toys, tmp_path_factory):
    """A complete run."""
    path = tmp_path_factory.mktemp("bench") / "toy.sqlite"
    run_suite.run("toy", store=path, measures=["CKA", "LinReg", "MagDiff"])
    return path


def test_a_run_prints_the_ranks_and_nothing_else(toys, invoke, tmp_path):
    ended = invoke("bench", "run", "toy", *MEASURES, "--store", tmp_path / "a.sqlite")
    assert (ended.status, ended.err) == (0, "")
    header, *rows = ended.out.splitlines()
    assert header.split() == ["domain", "measure", "mean", "median", "position", "n", "missing"]
    assert sorted(row.split()[1] for row in rows) == ["CKA", "LinReg", "MagDiff"]
    assert {row.split()[0] for row in rows} == {"toy_domain"}
    assert [row.split()[4] for row in rows] == ["1", "2", "3"]


def test_a_run_can_be_cut_down_and_taken_up(toys, invoke, tmp_path):
    path = tmp_path / "a.sqlite"
    cut = ("--domain", "toy_domain", "--dataset", "d", "--architecture", "a", "--test", "shortcut")
    ended = invoke("bench", "run", "toy", *cut, "--measure", "CKA", "--store", path, "--keep-checkpoints")
    assert ended.status == 0
    assert len(list(Path(f"{path}.models").glob("*.pt"))) == 9
    with_more = invoke("bench", "run", "toy", "--measure", "CKA", "--store", path, "--no-wait")
    assert with_more.status == 0
    frame = pd.read_csv(io.StringIO(invoke("bench", "export", "-", "--store", path).out))
    assert set(frame["test"]) == {"accuracy", "jsd", "disagreement", *SIX} - {"output"}


def test_a_store_that_another_run_writes_is_not_waited_for_if_so_asked(toys, invoke_main, tmp_path):
    path = tmp_path / "a.sqlite"
    with lock_run(path):
        ended = invoke_main("bench", "run", "toy", *MEASURES, "--store", path, "--no-wait")
    assert (ended.status, ended.out) == (2, "")
    assert f"another run (process {os.getpid()}) is writing {path}" in ended.err


def test_failures_are_counted_beside_the_result(toys, invoke, tmp_path, monkeypatch):
    path = tmp_path / "a.sqlite"
    monkeypatch.setenv("TOY_FAULTS", json.dumps({"shortcut 0.5 1": "raises"}))
    command = ("bench", "run", "toy", "--measure", "CKA", "--test", "shortcut", "--store", path)
    ended = invoke(*command)
    assert ended.status == 0
    failed, alone, rest = ended.err.splitlines()
    assert "a single measure has no rank" in alone
    assert failed == "1 model failed, 8 comparisons gave no value; see `shesha bench status`"
    assert rest.startswith("shesha: these ranks are based on 1 of 6 tests, on D. They do not cover")
    told = invoke("bench", "status", "--store", path).out
    assert "failed: A on D, shortcut 0.5, seed 1: RuntimeError: the loss is not finite" in told
    assert "- A on D: no model: RuntimeError: the loss is not finite: CKA (8)" in told
    monkeypatch.delenv("TOY_FAULTS")
    assert invoke(*command).err != ""
    assert invoke(*command, "--retry-failed").err == f"{alone}\n{rest}\n"
    assert "comparisons without a value:\n" not in invoke("bench", "status", "--store", path).out


def test_ranks_of_the_published_results(invoke):
    ended = invoke("bench", "rank", "--published")
    assert ended.status == 0
    rows = [row.split() for row in ended.out.splitlines()[1:]]
    assert {row[0]: row[4] for row in rows if row[1] == "CKA"} == {"graph": "11", "language": "1", "vision": "8"}
    assert invoke("bench", "rank", "--published", "--pooling", "mean").out != ended.out


def test_scores_and_comparisons_are_exported(store, invoke, tmp_path):
    ended = invoke("bench", "export", tmp_path / "scores.csv", "--store", store)
    assert (ended.status, ended.out, ended.err) == (0, "", "")
    scores = pd.read_csv(tmp_path / "scores.csv")
    assert len(scores) == 3 * 12
    expected = results(store)
    np.testing.assert_allclose(scores["value"], expected["value"])
    printed = invoke("bench", "export", "-", "--store", store)
    assert printed.out == (tmp_path / "scores.csv").read_text()
    every = invoke("bench", "export", "-", "--store", store, "--comparisons")
    frame = pd.read_csv(io.StringIO(every.out))
    symmetric, ordered = 15 + 3 * 36 - 2 * 3 + 3 * 6, 30 + 3 * 63 - 2 * 3 + 3 * 12
    assert frame["measure"].value_counts().to_dict() == {
        "CKA": symmetric,
        "MagDiff": symmetric,
        "LinReg": ordered,
    }


def test_the_report_is_also_a_page(store, invoke, tmp_path):
    pytest.importorskip("jinja2")
    out = tmp_path / "report.html"
    ended = invoke("bench", "report", tmp_path / "report.md", "--store", store, "--title", "Toys <b>", "--html", out)
    assert ended.status == 0
    text = out.read_text()
    assert "Toys &lt;b&gt;" in text
    assert "The best mean ranks over the domains" in text
    assert "Seconds per comparison" in text


def test_a_run_writes_its_page_or_refuses_before_it_starts(toys, invoke, invoke_main, tmp_path):
    pytest.importorskip("jinja2")
    run = ("bench", "run", "toy", "--measure", "CKA", "--test", "shortcut", "--store", tmp_path / "a.sqlite", "--html")
    for place, said in (
        (tmp_path / "nowhere" / "a.html", "output must be in an existing folder, got"),
        (tmp_path, "output must be a file, got the directory"),
    ):
        refused = invoke_main(*run, place)
        assert (refused.status, refused.out) == (2, "")
        assert said in refused.err
    assert not (tmp_path / "a.sqlite").exists()
    ended = invoke(*run, tmp_path / "a.html")
    assert ended.status == 0
    text = (tmp_path / "a.html").read_text()
    # What is printed is what the page answers: a single measure has no rank.
    assert ended.out.splitlines()[1].split()[1:] == ["CKA", "-", "-", "-", "1", "0"]
    assert "Only CKA was run, and a single measure has no rank" in text
    assert "toy_domain" in text


BAD = {
    "a suite that there is not": (("run", "smal"), r"SUITE must be one of small, paper.*; did you mean small\?"),
    "a domain": (("run", "small", "--domain", "sound"), "domain must be one of graph, language, vision, got 'sound'"),
    "a test": (("run", "small", "--test", "shortcat"), "test must be .*, got 'shortcat'; did you mean shortcut"),
    "a measure": (("run", "small", "--measure", "CKAA"), "measure must be .*got 'CKAA'; did you mean CKA"),
    "a function": (("run", "small", "--measure", "nowhere_at_all:f"), "measure must be importable as module:name"),
    "no store for status": (("status",), r"store must be the file of an earlier run, got resi\.sqlite"),
    "no store for ranks": (
        ("rank", "--store", "no.sqlite"),
        r"store must be the file of an earlier run, got no\.sqlite",
    ),
    "a text as store": (("status", "--store", "text.sqlite"), "store must be a file written by `shesha bench run`"),
    "a picture": (("rank", "--published", "--plot", "a.txt"), r"--plot must end in one of .png, .pdf, .svg"),
    "a title alone": (("rank", "--published", "--title", "Ranks"), r"--title must come with --plot, got 'Ranks' alone"),
    "a folder to write": (("export", "."), r"output must be a file, got the directory \."),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_ends_with_status_2_and_one_line(invoke_main, tmp_path, monkeypatch, case):
    monkeypatch.chdir(tmp_path)
    Path("text.sqlite").write_text("first,second\n" * 50)
    words, expected = BAD[case]
    ended = invoke_main("bench", *words)
    assert ended.status == 2
    assert ended.out == ""
    (line,) = ended.err.splitlines()
    assert line.startswith("shesha: ")

    assert re.search(expected, line), line
    assert [path.name for path in tmp_path.iterdir()] == ["text.sqlite"]


MODULES = {
    "syntax = (": r"'\(' was never closed",
    "import sys\nsys.exit(3)": r"SystemExit in line 2 of .*theirs_1\.py: 3",
    "raise RuntimeError('no \x1b[2J here')": r"RuntimeError in line 1 of .*: no \\x1b\[2J here",
    "from shesha_bench import Suite\nchosen = Suite('own', ('x',))": "tasks must be a sequence of tasks, which",
    "chosen = None": "which is NoneType",
}


@pytest.mark.parametrize("text", MODULES)
def test_a_module_that_fails_ends_with_the_line_that_failed(invoke_main, tmp_path, monkeypatch, text):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    name = f"theirs_{list(MODULES).index(text)}"
    Path(f"{name}.py").write_text(text)
    ended = invoke_main("bench", "run", f"{name}:chosen")
    assert (ended.status, ended.out) == (2, "")
    (line,) = ended.err.splitlines()
    assert re.search(rf"^shesha: SUITE must be .*'{name}:chosen'.*{MODULES[text]}", line), line


def test_a_store_of_another_suite_ends_with_status_2(store, toys, invoke_main):
    with pytest.MonkeyPatch.context() as patching:
        patching.setitem(suites._SUITES, "other", suites._SUITES["toy"])
        patching.setitem(suites._OPTIONS, "other", {})
        ended = invoke_main("bench", "run", "other", "--store", store)
    assert (ended.status, ended.out) == (2, "")
    assert f"store must belong to suite 'other', got {store} of suite 'toy'" in ended.err


def test_an_interrupted_run_says_how_to_go_on(invoke_main, monkeypatch, tmp_path):
    def stopped(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("shesha_bench.run", stopped)
    ended = invoke_main("bench", "run", "small", "--store", tmp_path / "a.sqlite")
    assert (ended.status, ended.out) == (130, "")
    assert f"finished results are in {tmp_path / 'a.sqlite'}; rerun the same command to resume" in ended.err


def test_ranks_of_few_tests_say_what_they_do_not_know(invoke, monkeypatch):
    frame = benchmark.published()
    one = frame[(frame["test"] == "label_randomization") & (frame["dataset"] == "Cora")]
    monkeypatch.setattr("shesha_bench.results", lambda *_: one)
    ended = invoke("bench", "rank")
    assert ended.status == 0
    assert "these ranks are based on 1 of 6 tests, on Cora" in ended.err
    assert "accuracy, output, shortcut, augmentation, layer_monotonicity" in ended.err
    assert invoke("bench", "rank", "--published").err == ""


def test_submissions_say_what_made_them_and_stand_in_a_table(store, invoke, tmp_path):
    ended = invoke("bench", "submit", tmp_path / "board", "--store", store)
    assert ended.out.startswith("3 files in")
    one = json.loads((tmp_path / "board" / "toy" / "CKA.json").read_text())
    assert {"code", "versions", "seeds", "scores", "closer", "suite"} <= set(one)
    frame = results(store)
    own = frame[frame["measure"] == "CKA"]
    assert sorted(score["value"] for score in one["scores"]) == pytest.approx(sorted(own["value"]))
    table = invoke("bench", "leaderboard", tmp_path / "board")
    assert table.status == 0, table
    assert "| position |" in table.out
    assert invoke("bench", "submit", tmp_path / "few", "--store", store, "--measure", "CKA").out.startswith("1 file in")


def test_a_measure_alone_is_never_first_of_one(toys, invoke, tmp_path):
    ended = invoke("bench", "run", "toy", "--measure", "MagDiff", "--store", tmp_path / "a.sqlite")
    assert "a single measure has no rank" in ended.err
    row = ended.out.splitlines()[1].split()
    assert row[2:5] == ["-", "-", "-"]
    page = tmp_path / "page.html"
    invoke("bench", "report", tmp_path / "r.md", "--store", tmp_path / "a.sqlite", "--html", page)
    assert "a single measure has no rank" in page.read_text()
    assert "of 1 measures" not in page.read_text()
