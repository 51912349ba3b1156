"""What `shesha bench` says of runs that are not complete, or rest on fewer rows."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from shesha.cli._app import app
from shesha_bench import Store, rank_plot, run_suite, suites
from shesha_bench.measure_entries import entries, make_entry
from shesha_bench.run_plan import required_models, trials
from shesha_bench.run_suite import run


@pytest.fixture
def known(toy, monkeypatch):
    """The toy suite has a name that commands know."""
    monkeypatch.setitem(suites._SUITES, "toy", lambda: toy.tasks)
    monkeypatch.setitem(suites._OPTIONS, "toy", {})
    return toy


def said(*words):
    ended = CliRunner().invoke(app, ["bench", *words])
    return ended.exit_code, ended.output


def test_what_is_known_only_after_training_is_said_to_be(here, known):
    keys = run_suite._keys(required_models(trials(known.tasks)))
    with Store("a.sqlite") as opened:
        opened.describe(suite="toy")
        opened.plan({key: model for model, key in keys.items()})
        opened.add_entries(map(make_entry, entries(["CKA"])))
    code, text = said("status", "--store", "a.sqlite")
    assert code == 0
    (line,) = [line for line in text.splitlines() if "layer_monotonicity" in line]
    assert re.search(r"3 +0 +0 +after training +0 +0$", line)
    assert text.count("after training") == 1


def test_a_store_of_which_nothing_is_planned_has_a_status(here, known):
    with Store("a.sqlite") as opened:
        opened.describe(suite="toy")
    code, text = said("status", "--store", "a.sqlite")
    assert code == 0
    assert "comparisons" in text


def test_rows_that_are_left_out_are_told(here, known, faults):
    faults({"standard 1": "is off for some rows"})
    run(known, store="a.sqlite", measures=["Jaccard"], tests=["accuracy"])
    code, text = said("status", "--store", "a.sqlite")
    assert code == 0
    assert text.endswith("most rows left out):\n- A on D: Jaccard (5, up to 3 rows)\n")


def test_a_table_of_a_test_that_is_not_complete_says_so(here, known):
    run(known, store="a.sqlite", measures=["CKA"], tests=["shortcut"])
    assert said("table", "--store", "a.sqlite", "--test", "augmentation") == (
        2,
        "shesha: the test augmentation is not complete\n",
    )
    assert said("table", "--store", "a.sqlite", "--test", "shortcut")[0] == 0


def test_the_picture_of_ranks_shows_the_pooling_that_is_printed(here, known, monkeypatch):
    pytest.importorskip("matplotlib")
    drawn = []
    plot = rank_plot.plot_ranks
    monkeypatch.setattr(
        "shesha_bench.plot_ranks",
        lambda frame, **chosen: drawn.append(chosen) or plot(frame, **chosen),
        raising=False,
    )
    assert said("rank", "--published", "--pooling", "mean", "--plot", "ranks.png")[0] == 0
    assert drawn == [{"pooling": "mean"}]
    assert Path("ranks.png").exists()


def test_a_folder_is_no_store(here):
    Path("folder").mkdir()
    with pytest.raises(IsADirectoryError, match="store must be a file, got the folder folder"):
        CliRunner().invoke(app, ["bench", "status", "--store", "folder"], catch_exceptions=False)
