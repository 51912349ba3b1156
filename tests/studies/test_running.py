"""Running studies: what is kept, what is told, what is refused."""

import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from shesha_studies import (
    Check,
    compare_with_published,
    find,
    judge_number,
    run,
    study,
    write_page,
)
from shesha_studies.framework.run_files import has_page

MINE = "mine:mine"


pytestmark = pytest.mark.usefixtures("importable")


def computed(log):
    return sorted(log.read_text().split()) if log.exists() else []


def test_only_what_is_missing_is_computed(tmp_path, monkeypatch):
    log = tmp_path / "log"
    monkeypatch.setenv("MINE_LOG", str(log))
    (quick,) = run([MINE], quick=True, out=tmp_path / "out")
    assert (quick.complete, quick.n_cells, computed(log)) == (True, 2, ["1", "2"])
    (full,) = run([MINE], out=tmp_path / "out")
    assert full.rows.square.tolist() == [1, 4, 9, 16]
    assert computed(log) == ["1", "2", "3", "4"]
    run([MINE], quick=True, out=tmp_path / "out", again=True)
    assert computed(log) == ["1", "1", "2", "2", "3", "4"]


def test_a_page_holds_answer_table_picture_and_what_was_run(tmp_path):
    run([MINE], quick=True, out=tmp_path)
    page = (tmp_path / "mine" / "page.md").read_text()
    for part in ("# mine (new)", "**It does, 2 times.**", "| x | square |", "![Squares](squares.png)", "Quite."):
        assert part in page
    assert "2 of the 2 cells of the quick grid" in page
    assert (tmp_path / "mine" / "squares.png").read_bytes()[:4] == b"\x89PNG"
    assert pd.read_csv(tmp_path / "mine" / "rows.csv").square.tolist() == [1, 4]


def test_failures_and_missing_data_are_told_and_tried_again(tmp_path, monkeypatch):
    monkeypatch.setenv("MINE_FAILS", "1")
    monkeypatch.setenv("MINE_MISSING", "1")
    (found,) = run([MINE], out=tmp_path)
    assert found.rows.x.tolist() == [1, 2]
    assert list(found.failures.values()) == ["RuntimeError: three is odd"]
    assert list(found.unreachable.values()) == ["the number four (looked for in MINE)"]
    page = (tmp_path / "mine" / "page.md").read_text()
    assert "1 cell raised an error: RuntimeError: three is odd." in page
    assert "1 cell could not be reached: the number four" in page
    monkeypatch.delenv("MINE_FAILS")
    monkeypatch.delenv("MINE_MISSING")
    assert run([MINE], out=tmp_path)[0].complete


def test_a_killed_run_goes_on_where_it_was(tmp_path):
    place = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    command = [sys.executable, "-m", "shesha", "study", "run", MINE, "--out", str(tmp_path / "out"), "--workers", "1"]
    log = tmp_path / "log"
    for dies in ("2", "3", "4"):
        environment = {**os.environ, "PYTHONPATH": place, "MINE_DIES": dies, "MINE_LOG": str(log), "MPLBACKEND": "Agg"}
        assert subprocess.run(command, env=environment, capture_output=True, check=False).returncode == 9
    last = {**os.environ, "PYTHONPATH": place, "MINE_LOG": str(log), "MPLBACKEND": "Agg"}
    assert subprocess.run(command, env=last, capture_output=True, check=False).returncode == 0
    assert computed(log) == ["1", "2", "2", "3", "3", "4", "4"]
    undisturbed = run([MINE], out=tmp_path / "other")[0].rows
    assert pd.read_csv(tmp_path / "out" / "mine" / "rows.csv").equals(undisturbed)


def test_processes_give_the_same_rows(tmp_path):
    (here,) = run([MINE], out=tmp_path / "here")
    (apart,) = run([MINE], out=tmp_path / "apart", workers=2)
    assert here.rows.equals(apart.rows)


def test_the_page_is_made_again_from_what_is_there(tmp_path):
    run([MINE], out=tmp_path)
    (tmp_path / "mine" / "page.md").unlink()
    assert "4 of the 4 cells of the full grid" in write_page(MINE, tmp_path).read_text()
    with pytest.raises(ValueError, match="out must contain rows of ground-truth"):
        write_page("ground-truth", tmp_path)


def test_a_folder_without_rows_names_the_command_that_makes_them(tmp_path):
    with pytest.raises(
        ValueError, match=r"out must contain rows of mine, got none in .*: `shesha study run mine:mine --out"
    ):
        write_page(MINE, tmp_path / "nowhere")


def test_grids_name_parameters():
    with pytest.raises(ValueError, match=r"quick must name parameters of cell \(x\), got 'y'"):

        @study("wrong", paper="new", version=1, full={"x": [1]}, quick={"y": [1]})
        def cell(x):
            """Is it so?"""
            return {}

    with pytest.raises(ValueError, match="full must contain at least one cell"):

        @study("empty", paper="new", version=1, full={"x": []}, quick={"x": [1]})
        def empty(x):
            """Is it so?"""
            return {}

    with pytest.raises(ValueError, match="silent must have a docstring, whose first paragraph"):

        @study("silent", paper="new", version=1, full={"x": [1]}, quick={"x": [1]})
        def silent(x):
            return {}

    with pytest.raises(
        ValueError, match="name must be lower-case words and numbers joined by hyphens, got 'bad name!'"
    ):
        study("bad name!", paper="new", version=1, full={"x": [1]}, quick={"x": [1]})


def test_a_comparison_with_published_numbers_says_what_agrees_differs_and_was_not_run():
    ours = pd.DataFrame({"k": [1, 1, 2, 2], "score": [0.4, 0.6, 0.100, 0.101]})
    published = pd.DataFrame({"k": [1, 2, 3], "score": [0.55, 0.2, 0.3]})
    found = compare_with_published(ours, published, ["k"], ["score"])
    assert found.verdict.tolist() == ["agrees", "differs", "not run"]
    assert found.difference.tolist()[:2] == pytest.approx([-0.05, -0.0995])


def test_a_table_without_its_store_is_gone_on_with(tmp_path, monkeypatch):
    run([MINE], out=tmp_path, only={"x": "3"})
    (tmp_path / "studies.sqlite").unlink()
    log = tmp_path / "log"
    monkeypatch.setenv("MINE_LOG", str(log))
    (found,) = run([MINE], out=tmp_path)
    assert found.rows.to_dict("list") == {"x": [1, 2, 3, 4], "square": [1, 4, 9, 16]}
    assert computed(log) == ["1", "2", "4"]
    (tmp_path / "studies.sqlite").unlink()
    summary = tmp_path / "mine" / "summary.json"
    summary.write_text(summary.read_text().replace('"version": 1', '"version": 2'))
    run([MINE], out=tmp_path)
    assert len(computed(log)) == 7


def test_a_page_that_needs_other_cells_costs_neither_rows_nor_later_studies(tmp_path):
    first, second = run([MINE, MINE], out=tmp_path, only={"x": "4"})
    assert first.rows.square.tolist() == second.rows.square.tolist() == [16]
    page = (tmp_path / "mine" / "page.md").read_text()
    assert "The page could not be made: KeyError: 'no two' (mine.py, line " in page
    assert not (tmp_path / "mine" / "checks.csv").exists()
    assert run([MINE], out=tmp_path)[0].complete
    assert (tmp_path / "mine" / "checks.csv").exists()


def write_earlier_page(folder):
    """Write a page of another version of the study, without its store; return its files."""
    run([MINE], out=folder)
    (folder / "studies.sqlite").unlink()
    summary = folder / "mine" / "summary.json"
    summary.write_text(summary.read_text().replace('"version": 1', '"version": 2'))
    return {one.name: one.read_bytes() for one in summary.parent.iterdir()}


def fail_on_a_part(folder, monkeypatch):
    run([MINE], out=folder, only={"x": "4"})


def fail_on_the_whole_grid(folder, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(find(MINE).pages[0], "__code__", (lambda rows, published: {}["no two"]).__code__)
        with pytest.raises(ValueError, match="the page of mine must be made of its rows, got KeyError: 'no two'"):
            run([MINE], out=folder)


def find_no_data(folder, monkeypatch):
    monkeypatch.setenv("MINE_MISSING", "1")
    run([MINE], out=folder, only={"x": "4"})
    monkeypatch.delenv("MINE_MISSING")


@pytest.mark.parametrize(
    ("fail", "why", "n_rows"),
    [
        (fail_on_a_part, "The page could not be made: KeyError: 'no two' (mine.py, line ", 1),
        (fail_on_the_whole_grid, "The page could not be made: KeyError: 'no two' (test_running.py, line ", 4),
        (find_no_data, "1 cell could not be reached: the number four", 0),
    ],
)
def test_a_page_that_cannot_be_made_leaves_an_earlier_one_as_it_is(tmp_path, monkeypatch, fail, why, n_rows):
    earlier, own = write_earlier_page(tmp_path), tmp_path / "mine"
    assert {"page.md", "rows.csv", "checks.csv", "summary.json", "squares.png"} == set(earlier)
    fail(tmp_path, monkeypatch)
    assert {name: (own / name).read_bytes() for name in earlier} == earlier
    assert why in (own / "page_not_made.md").read_text()
    assert len((own / "rows_without_page.csv").read_text().split()) == (n_rows + 1 if n_rows else 0)
    assert not has_page(find(MINE), tmp_path)
    run([MINE], out=tmp_path)
    assert has_page(find(MINE), tmp_path)
    assert {one.name for one in own.iterdir()} == set(earlier)


def test_verdicts_need_more_than_the_joint_uncertainty():
    assert judge_number("P, Table 1", "a", 0.5, 0.56, error=0.02, published_error=0.025).verdict == "agrees"
    differs = judge_number("P, Table 1", "a", 0.5, 0.56, error=0.01, why="other data")
    assert (differs.verdict, differs.why) == ("differs", "other data")
    assert judge_number("P, Table 1", "a", 0.5, 0.5004).verdict == "agrees"
    assert judge_number("P, Table 1", "a", 0.5, float("nan")).verdict == "not run"
    with pytest.raises(ValueError, match=r"verdict must be one of agrees, differs, .*, got 'fine'"):
        Check("P", "a", 1, 1, "fine")
