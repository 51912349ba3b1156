"""Every result has a page and a table for notebooks; names stay text; the command line writes the same pages."""

from __future__ import annotations

import hashlib
import sys
from html.parser import HTMLParser

import numpy as np
import pytest

import shesha
from shesha.results import DriftScore, DriftVerdict, Moved

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib").use("agg")


class Parsed(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)

    def handle_data(self, data):
        self.text += data


def test_every_result_shows_a_table_in_notebooks_and_nothing_of_it_runs(kind, sample):
    found = Parsed(sample(kind)._repr_html_())
    assert "table" in found.tags
    assert not {"script", "b"} & set(found.tags)


def test_every_result_writes_a_page(kind, sample, tmp_path):
    made = sample(kind)
    path = made.save_html(tmp_path / "page.html", about={"data": "<script>1</script>"})
    found = Parsed(path.read_text(encoding="utf-8"))
    assert found.tags.count("script") == 1
    assert "What was run" in found.text
    assert "<script>1</script>" in found.text
    assert "shesha-representations" in found.text


def test_without_jinja_notebooks_show_the_text(monkeypatch, sample):
    from shesha.report import html

    html._environment.cache_clear()
    monkeypatch.setitem(sys.modules, "jinja2", None)
    made = sample(shesha.DriftPath)
    shown = made._repr_html_()
    assert shown.startswith("<pre>")
    assert "&lt;b&gt;" in shown
    assert "<b>" not in shown


def test_the_page_of_an_audit_answers_first():
    X = np.random.default_rng(0).standard_normal((40, 3)) @ np.random.default_rng(1).standard_normal((3, 12))
    found = shesha.audit({"a<b": X, "c": X[:, ::-1], "d": X + 1}, n_bootstrap=10, n_permutations=19, seed=3)
    page = found.page({"command": "shesha audit x.npz"})
    assert page.title == "Audit of 3 representations: 40 rows x 12 features"
    assert page.answer[0].startswith("Stable above chance: all 3")
    (table,) = page.numbers
    assert table.names == ("a<b", "c", "d")
    assert [one.head for one in table.columns] == ["rank", "feature-split stability", "chance up to", "p"]
    strip = table.columns[1].strips[0]
    assert (strip.value, strip.low) == (found["a<b"].feature_split.value, found["a<b"].feature_split.low)
    assert strip.chance == found["a<b"].chance.threshold
    ran = dict(page.ran)
    assert ran["command"] == "shesha audit x.npz"
    assert ran["seed"] == "3"
    assert "n_permutations=19" in ran["parameters"]
    assert "3 of 40 rows x 12 features" in ran["data"]
    assert page.doubts


def test_the_page_of_a_comparison_has_chance_or_says_that_there_is_none():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((30, 5)), rng.standard_normal((30, 4))
    raw = shesha.compare(X, Y, ["CKA", "RSA"]).page()
    assert "raw values, without a chance level" in raw.answer[0]
    assert "No chance level was drawn" in raw.doubts[-1].text
    found = shesha.compare(X, Y, ["CKA"], calibrate=True, n_permutations=19, seed=0)
    page = found.page()
    assert page.answer[0].startswith("The measure is not above chance at 0.05: the smallest p-value is")
    assert page.answer[1].startswith(f"CKA is {found['CKA'].value:.3g} [")
    explained = [part for section in page.sections for part in section.parts if part.kind == "explained"]
    assert [(one.name, one.page) for one in explained] == [("CKA", "measures.md#cka")]


def test_links_to_measures_lead_to_headings_that_exist():
    from pathlib import Path

    from shesha.measures import choose
    from shesha.results._similarity_pages import _SEES, _anchor

    page = Path(__file__).parents[2] / "docs" / "measures.md"
    headings = {_anchor(line[4:]) for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("### ")}
    assert {_anchor(one.name) for one in choose("all")} <= headings
    assert {one.family for one in choose("all")} <= set(_SEES)


def test_the_page_of_layers_frames_the_closest_pair():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3, 20, 4))
    found = shesha.calibrate_layers(list(X), list(X[:2]), n_permutations=19, seed=0)
    (heat,) = found.page().numbers
    row, column = heat.marked
    assert (heat.rows[row], heat.columns[column]) == found.best
    assert heat.values == found.grid


def test_the_page_of_a_verdict_says_what_to_do():
    scores = (DriftScore("RDM drift", "primary", 0.03, 0.01, 0.005, 0.001, beyond=True),)
    found = DriftVerdict(
        *("alert", scores, 400, "re-encodings", 200, 0.01, 0.02, 0.0, (Moved("<b>", 0.5),)),
        advice="Measure the task.",
        notes=("batch_size was 32",),
        about={"revision": "a1"},
    )
    page = found.page()
    assert page.answer == ("The geometry changed (400 rows).", "Measure the task.")
    assert page.doubts[0].text == "batch_size was 32"
    assert dict(page.ran)["revision"] == "a1"


@pytest.fixture
def layers(tmp_path):
    path = tmp_path / "layers.npz"
    X = np.random.default_rng(0).standard_normal((20, 6))
    np.savez(path, early=X, late=X + 1)
    return path


@pytest.mark.parametrize(
    "command",
    [
        ("audit", "{}", "--bootstrap", "10", "--permutations", "19"),
        ("compare", "{}", "--measures", "CKA"),
        ("layers", "{}", "{}", "--permutations", "19"),
    ],
    ids=lambda one: one[0],
)
def test_commands_write_pages_that_can_be_repeated(command, layers, tmp_path):
    from typer.testing import CliRunner

    from shesha.cli._app import app

    out = tmp_path / "page.html"
    words = [word.format(layers) for word in command]
    ended = CliRunner().invoke(app, [*words, "--html", str(out)], catch_exceptions=False)
    assert ended.exit_code == 0
    found = Parsed(out.read_text(encoding="utf-8")).text
    assert hashlib.sha256(layers.read_bytes()).hexdigest() in found
    assert "command" in found


def test_a_page_in_a_folder_that_is_not_there_is_refused_before_the_work(layers, tmp_path):
    from typer.testing import CliRunner

    from shesha.cli._app import app

    with pytest.raises(FileNotFoundError, match=r"the folder of the file to write must exist, got .*nowhere"):
        CliRunner().invoke(
            app, ["audit", str(layers), "--html", str(tmp_path / "nowhere" / "x.html")], catch_exceptions=False
        )
