"""A user's own study: run from the user's folder, by module or by file, with what lies beside it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCUMENTED = Path(__file__).parents[2] / "docs" / "studies.md"
STUDY = """
from helper import FACTOR
from shesha_studies import Page, study

@study("own", paper="new", version=1, full={"x": [1, 2]}, quick={"x": [1]}, published="own.csv")
def own(x):
    '''Is it found?'''
    return {"y": FACTOR * x}

@own.page
def page(rows, published):
    return Page(f"Yes: {rows.y.sum()} and {published.number.sum()}.")
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "sub").mkdir()
    for place in (tmp_path, tmp_path / "sub"):
        (place / "mine_alone.py").write_text(STUDY)
        (place / "own.csv").write_text("number\n5\n")
    (tmp_path / "helper.py").write_text("FACTOR = 3\n")
    (tmp_path / "sub" / "helper.py").write_text("FACTOR = 3\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    sys.modules.pop("helper", None)


def command(*words, expected=0):
    """Run the command as a user does; PYTHONPATH names nothing of theirs."""
    done = subprocess.run(
        [sys.executable, "-m", "shesha", "study", *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == expected, done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize("name", ["mine_alone:own", "./mine_alone.py:own", "sub/mine_alone.py:own"])
def test_the_command_finds_it_with_its_published_numbers_and_helpers(folder, name):
    said = command("run", name, "--workers", "2")
    assert "own: 2 of 2 cells" in said
    assert "Yes: 9 and 5." in (folder / "studies" / "own" / "page.md").read_text()


def test_an_error_of_a_page_names_its_cause(folder):
    (folder / "mine_alone.py").write_text(STUDY.replace("rows.y.sum()", "rows.z.sum()"))
    said = command("run", "mine_alone:own", expected=2)
    assert "the page of own must be made of its rows, got AttributeError" in said
    assert "(rows are kept)" in said
    assert "Traceback" not in said
    part = command("run", "mine_alone:own", "--where", "x=1", "--out", "part")
    assert "own: 1 of 2 cells" in part
    assert "The page could not be made: AttributeError" in (folder / "part" / "own" / "page.md").read_text()


def documented(language, words):
    """The block of the documentation that contains these words."""
    blocks = re.findall(rf"```{language}\n(.*?)```", DOCUMENTED.read_text(), re.DOTALL)
    (block,) = [one for one in blocks if words in one]
    return block


def test_the_documented_study_runs_as_documented_and_repeats(folder):
    (folder / "mymodule.py").write_text(documented("python", "halves"))
    for out in ("first", "second"):
        assert "halves: 1 of 1 cells" in command("run", "mymodule:halves", "--quick", "--out", out)
    assert (folder / "first/halves/rows.csv").read_text() == (folder / "second/halves/rows.csv").read_text()
    assert "`shesha study run mymodule:halves --quick`" in (folder / "first/halves/page.md").read_text()


@pytest.fixture
def judged(folder):
    """The documented study that judges the numbers and claims of a paper."""
    (folder / "rules").mkdir()
    (folder / "noise_study.py").write_text(documented("python", "noise-cka"))
    (folder / "noise.csv").write_text(documented("text", "claim/rises"))
    (folder / "rules" / "noise-cka.toml").write_text(documented("toml", "[claim.rises]"))
    return folder


def test_the_documented_comparison_with_a_paper_is_judged(judged):
    command("run", "noise_study:noise_cka")
    page = (judged / "studies" / "noise-cka" / "page.md").read_text()
    assert "**CKA of unrelated data (64 rows) is 0.2" in page
    assert "agrees (its recipe)" in page.partition("CKA with as many features as rows | 0.5 |")[2].partition("\n")[0]
    assert "from 16 to 64 features CKA rises by 0.3" in page
    command("index")
    assert Path("studies/index.md").read_text().count("| agrees |") == 2
