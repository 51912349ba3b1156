"""Notebooks and pages begin with the answer: a whole sentence, and a table whose cells are not cut."""

import html
import re

import pytest

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib").use("agg")

CUT = re.compile(r"(,|;|\(|and|of|at|is)$")


def test_the_first_line_of_a_notebook_is_a_whole_sentence(real_kind, real_result):
    first = real_result(real_kind)._page().answer[0]
    assert first.endswith("."), first
    assert not CUT.search(first.removesuffix("."))
    assert first[0].isupper() or first.split()[0].strip(",") in real_result(real_kind).to_json()


def test_a_notebook_shows_the_answer_before_the_table_and_cuts_no_cell(real_kind, real_result):
    found = real_result(real_kind)
    shown = found._repr_html_()
    answer = html.unescape(re.sub(r"<[^>]+>", "", shown.partition("<table")[0]))
    assert found._page().answer[0].split(",")[0] in answer
    assert "...<" not in shown


@pytest.mark.parametrize("wanted", ["Score", "TrialScore", "Estimate", "TwoSample"])
def test_draws_of_a_null_do_not_fill_a_notebook(wanted, real_result):
    found = real_result(wanted)
    assert len(found.null) >= 39
    assert str(found.null[0])[:8] not in found._repr_html_()
