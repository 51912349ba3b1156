"""Every result has a page and a table for notebooks; names stay text; the command line writes the same pages."""

from __future__ import annotations

import hashlib
import os
import sys
from html.parser import HTMLParser

import numpy as np
import pytest

import shesha
from shesha.report import as_html
from shesha.results import DriftScore, DriftVerdict
from shesha.results.diff import ClassChange

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
    made = sample(shesha.results.DriftPath)
    shown = made._repr_html_()
    assert shown.startswith("<pre>")
    assert "&lt;b&gt;" in shown
    assert "<b>" not in shown


def test_links_to_measures_lead_to_headings_that_exist():
    from pathlib import Path

    from shesha.measures import choose
    from shesha.report import heading_anchor
    from shesha.results.comparison_pages import _SEES

    page = Path(__file__).parents[2] / "docs" / "measures.md"
    lines = page.read_text(encoding="utf-8").splitlines()
    headings = {heading_anchor(line[4:]) for line in lines if line.startswith("### ")}
    assert {heading_anchor(measure.name) for measure in choose("all")} <= headings
    assert {one.family for one in choose("all")} <= set(_SEES)


def test_the_page_of_layers_frames_the_closest_pair():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4, 20, 4))
    found = shesha.calibrate_layers(list(X[:3]), [X[3], X[1]], n_permutations=19, seed=0)
    partners, heat, _ = found.page().numbers
    ((row, column),) = heat.framed
    assert (heat.rows[row], heat.columns[column]) == (found.closest.first, found.closest.second)
    assert np.array_equal(heat.values, found.matrix())
    assert (partners.names, partners.columns[0].cells) == (found.rows, tuple(pair.second for pair in found.partners))
    # Every map says which number it shows: there may be several on a page.
    assert f"{heat.title}: " in Parsed(as_html(found.page())).text


def test_a_threshold_of_zero_is_not_drawn():
    scores = (
        DriftScore(name="m0", tier="early", value=0.1, threshold=0.0, p_value=0.01, beyond=True),
        DriftScore(name="m1", tier="early", value=0.1, threshold=0.1, p_value=0.01),
    )
    found = DriftVerdict("alert", scores, 400, "re-encodings", 199, 0.01, 0.02, 0.0, advice="Look.")
    column = next(one for one in found.page().numbers[0].columns if one.head == "drift")
    assert column.strips[0] is None and column.strips[1].value == 1.0


def test_a_long_table_of_numbers_is_limited_on_a_page_and_whole_in_text():
    from shesha.results.number import Number, NumberTable

    found = NumberTable(numbers=tuple(Number(name=f"row{i}", value=i / 1000) for i in range(300)))
    table, left = found.page().numbers
    assert (table.names[-1], len(table.columns[0].cells), len(table.columns[0].strips)) == ("row199", 200, 200)
    assert left.text == "100 more rows are in `to_frame()`"
    assert "row200" not in found._repr_html_()
    assert "row299" in found.full_text()


def test_a_verdict_without_re_encodings_claims_nothing_of_them():
    scores = (DriftScore(name="RDM drift", tier="primary", value=0.001, threshold=0.05, p_value=1.0, low=0.0008),)
    found = DriftVerdict("ok", scores, 400, "row resamples", 200, 0.01, float("nan"), 0.05, advice="Nothing.")
    page = found.page()
    assert page.answer == (
        "Ok: no drift significantly above the tolerance of 0.05 (400 rows). RDM drift is 0.001, and at least 0.0008 "
        "for any sample of inputs of the same kind.",
        "Nothing needs to be done.",
    )
    assert page.doubts[0].text.startswith("Without re-encodings the noise floor is unknown")
    assert "that of unchanged encodings" not in str(found)


def test_a_page_from_python_says_how_to_tell_which_data_it_was(tmp_path):
    X = np.random.default_rng(0).standard_normal((20, 4))
    found = shesha.compare(X, X[:, :3], ["CKA"])
    assert "shesha.report.fingerprint(X)" in dict(found.page().ran)["fingerprint"]
    from shesha.report import fingerprint

    told = dict(found.page({"X": fingerprint(X)}).ran)
    assert "fingerprint" not in told
    assert told["X"].startswith("20 x 4 float64, SHA-256 ")


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

    for command in (["audit", layers], ["compare", layers, "--calibrate"], ["layers", layers, layers]):
        for option in ("--html", "--card"):

            def run(place, command=command, option=option):
                CliRunner().invoke(app, [*map(str, command), option, str(place)], catch_exceptions=False)

            with pytest.raises(FileNotFoundError, match=r"output must be in an existing folder, got .*nowhere"):
                run(tmp_path / "nowhere" / "x")
            with pytest.raises(IsADirectoryError, match="output must be a file, got the directory"):
                run(tmp_path)
            with pytest.MonkeyPatch.context() as patching:
                patching.setattr("os.access", lambda place, mode, **_: mode != os.W_OK)
                with pytest.raises(PermissionError, match="must be in a writable folder"):
                    run(tmp_path / "x")


def test_a_page_takes_the_place_of_a_file_whatever_it_is_called(layers, tmp_path):
    from typer.testing import CliRunner

    from shesha.cli._app import app

    out = tmp_path / 'it\'s "<b>" & so.html'
    out.write_text("old")
    words = ["compare", str(layers), "--measures", "CKA", "--html", str(out)]
    assert CliRunner().invoke(app, words, catch_exceptions=False).exit_code == 0
    found = Parsed(out.read_text(encoding="utf-8"))
    assert "b" not in found.tags
    assert "early and late" in found.text
    assert [one.name for one in tmp_path.iterdir() if one.name.endswith(".part")] == []


@pytest.mark.parametrize(
    ("command", "model", "metric"),
    [
        (("audit", "{}", "--bootstrap", "10", "--permutations", "19"), "early", "feature-split stability"),
        (("compare", "{}", "--measures", "CKA", "--calibrate", "--permutations", "19"), "early", "CKA with late"),
        (("layers", "{}", "{}", "--permutations", "19"), "layers", "max unbiased CKA over 2 x 2 layers"),
    ],
    ids=lambda one: one[0] if isinstance(one, tuple) else None,
)
def test_commands_write_cards(command, model, metric, layers, tmp_path):
    from typer.testing import CliRunner

    from shesha.cli._app import app

    yaml = pytest.importorskip("yaml")
    out = tmp_path / "README.md"
    words = [word.format(layers) for word in command]
    assert CliRunner().invoke(app, [*words, "--card", str(out)], catch_exceptions=False).exit_code == 0
    _, head, body = out.read_text(encoding="utf-8").split("---\n", 2)
    first = yaml.safe_load(head)["model-index"][0]
    (found,) = first["results"][0]["metrics"]
    assert (first["name"], found["type"]) == (model, metric)
    assert 0 < found["args"]["p_value"] <= 1
    assert hashlib.sha256(layers.read_bytes()).hexdigest() in body


def test_a_comparison_without_its_chance_level_gets_no_card(layers, tmp_path):
    from typer.testing import CliRunner

    from shesha.cli._app import app

    with pytest.raises(ValueError, match="--card needs --calibrate"):
        CliRunner().invoke(app, ["compare", str(layers), "--card", str(tmp_path / "a.md")], catch_exceptions=False)
    assert not (tmp_path / "a.md").exists()


def test_a_folder_has_a_fingerprint_of_all_that_is_in_it(tmp_path):
    from shesha.cli._outputs import fingerprint, what_was_run

    inner = tmp_path / "layers.zarr"
    (inner / "a").mkdir(parents=True)
    (inner / "a" / "0").write_bytes(b"1")
    before = fingerprint(inner)
    assert before.startswith("1 files, SHA-256 ")
    assert f"file {inner}" in what_was_run([inner])
    (inner / "a" / "0").write_bytes(b"2")
    assert fingerprint(inner) != before


def test_a_result_of_recordings_shows_its_figure_and_explains_only_what_its_table_has(tmp_path):
    rng = np.random.default_rng(0)
    trials, shown = rng.standard_normal((24, 5, 3)), np.repeat(np.arange(4), 6)
    for made in (
        shesha.neuro.over_time(trials, shown, n_permutations=19),
        shesha.neuro.trial_split(trials[:, :, 0], shown, n_permutations=19),
    ):
        found = Parsed(made.save_html(tmp_path / "page.html").read_text(encoding="utf-8"))
        assert "svg" in found.tags
        assert "n_unused" not in found.text and "=nan" not in found.text


def test_shares_and_their_intervals_have_one_unit():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 6))
    models = {"a": X + rng.standard_normal(X.shape), "b": X[:, :3] + rng.standard_normal((30, 3))}
    found = shesha.rank_models([X + 0.5 * rng.standard_normal(X.shape) for _ in range(2)], models)
    (cells,) = (
        column.cells
        for section in found.page().sections
        for part in section.parts
        if part.kind == "table"
        for column in part.columns
        if column.head == "unique"
    )
    assert all(cell.count("%") == 3 for cell in cells)


@pytest.mark.parametrize(
    ("after", "significant", "verdict"),
    [(0.9, True, "a and b moved apart"), (0.55, False, "within noise"), (0.9, False, "not above chance")],
)
def test_a_movement_within_noise_is_called_so_whatever_its_p_value(after, significant, verdict):
    numbers = {"p_value": 0.001, "corrected_p_value": 0.001, "limit": 0.1, "significant": significant}
    assert ClassChange(first="a", second="b", before=0.5, after=after, **numbers).verdict == verdict


def test_a_doubt_below_a_number_is_wrapped_once():
    rng = np.random.default_rng(0)
    shown = np.repeat(np.arange(8), 20)
    X, Y = (rng.standard_normal((160, 8)) + 2 * rng.standard_normal((8, 8))[shown] for _ in range(2))
    with pytest.warns(shesha.CalibrationWarning):
        lines = str(shesha.calibrate(X, Y, n_permutations=19, seed=0)).split("\n")
    (start,) = (i for i, line in enumerate(lines) if line.startswith("  ! 1."))
    assert len(lines) > start + 2
    assert all(len(line) > 55 for line in lines[start:-1])
