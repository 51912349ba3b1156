"""Notebooks and pages begin with the answer: a whole sentence, and a table whose cells are not cut."""

import html
import re

import numpy as np
import pytest

import shesha

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


ROWS = np.random.default_rng(0).standard_normal((60, 5))
HONEST = {
    "classes without a value": (
        lambda: (
            shesha.compare_within(
                *2 * [np.vstack([ROWS, np.ones((20, 5))])],
                np.repeat(["a", "b", "same"], [30, 30, 20]),
                n_permutations=39,
            ).headline
        ),
        r"no measure has a value within same\.$",
    ),
    "chance level of a class": (
        lambda: shesha.compare_within(ROWS, ROWS, np.repeat(["a", "b"], 30), "CKA", n_permutations=39).headline,
        r"\(CKA 1\.00 of 1 \(chance 0\.1\d\)\)",
    ),
    "grid without a chance level": (
        lambda: shesha.compare_layers([ROWS], [np.roll(ROWS[::-1], 1, axis=1) ** 3], "CKA").headline,
        r"CKA 0\.\d+, not tested against chance\.$",
    ),
    "few canaries": (
        lambda: str(shesha.drift.DriftMonitor(ROWS[:5], seed=0).check(ROWS[5:10])),
        r"RDM\s+drift\s+is\s+[\d.]+\s+for\s+these\s+rows;\s+other\s+samples\s+of\s+inputs\s+were\s+not\s+considered",
    ),
    "copied features": (
        lambda: shesha.audit(np.tile(ROWS, (1, 4)), n_bootstrap=20, n_permutations=39).sentence(),
        r"; possible problems: copied features \(effect 0\.\d+\)",
    ),
}
"""Sentences that must not hide what weakens them."""


@pytest.mark.parametrize("case", HONEST)
def test_a_sentence_does_not_hide_what_weakens_it(case):
    sentence, pattern = HONEST[case]
    assert re.search(pattern, text := sentence()), text
