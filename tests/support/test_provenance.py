"""Statements on inputs are collected once, in order, reach outer blocks, and end in the result."""

import dataclasses

import numpy as np
import pytest

import shesha
from shesha.results import Faults, load
from shesha.support.provenance import collect_statements, current_statements, keep_statements, state


def test_statements_are_collected_once_in_order_and_reach_outer_blocks():
    with collect_statements() as outer:
        state("a")
        with collect_statements() as inner:
            state("b")
            state("b")
            assert current_statements() == ("b",)
        state("c")
    assert (list(inner), list(outer)) == (["b"], ["a", "b", "c"])
    state("outside of any block")
    assert current_statements() == ()


def test_a_marked_function_keeps_its_statements_in_the_result():
    @keep_statements
    def find(*, n_empty: int) -> Faults:
        state("rows matched by id")
        return Faults(not_finite=n_empty)

    assert find(n_empty=0).inputs == ("rows matched by id",)
    assert find.__name__ == "find"


def test_a_result_shows_its_inputs_in_text_page_and_json_and_keeps_them_in_a_file(tmp_path):
    plain = shesha.estimate(np.random.default_rng(0).standard_normal((30, 8)), n_draws=4, n_bootstrap=20, seed=0)
    result = dataclasses.replace(plain, inputs=("new.csv: column embedding, 30 x 8", "rows matched by id"))
    sentence = "Read: new.csv: column embedding, 30 x 8; rows matched by id."
    assert sentence in " ".join(str(result).split())
    assert sentence in result.page().answer
    assert result.to_dict()["inputs"] == result.inputs
    assert load(result.save(tmp_path / "result.json")).inputs == result.inputs
    assert "inputs" not in plain.to_dict()
    assert result == plain


CLUSTERED = np.repeat(np.random.default_rng(1).standard_normal((4, 24, 6)), 5, axis=1)
CLUSTERED += 0.4 * np.random.default_rng(2).standard_normal(CLUSTERED.shape)
WARNING = {
    "compare": lambda X, Y, *_: shesha.compare(X, Y, "CKA", calibrate=True),
    "compare_within": lambda X, Y, *_: shesha.compare_within(X, Y, np.repeat(["a", "b"], 60), "CKA"),
    "consensus": lambda *sides: shesha.consensus(dict(zip("abcd", sides, strict=True))),
    "diff": lambda X, Y, *_: shesha.diff(X, X + Y, np.repeat(["a", "b"], 60), measures="RDM drift"),
    "match_units": lambda X, Y, *_: shesha.match_units(X, Y),
    "coherence_of_differences": lambda X, *_: shesha.coherence.coherence_of_differences(X, n_draws=39),
}


@pytest.mark.parametrize("name", WARNING)
def test_a_warning_that_numbers_may_mislead_stays_in_the_result_and_its_sentence(name):
    with pytest.warns(shesha.CalibrationWarning, match="consecutive rows are closer"):
        found = WARNING[name](*CLUSTERED)
    text = ": consecutive rows are closer than random rows"
    assert f"; warning: {found.inputs[-1].removeprefix('warning: ').split(':')[0]}{text} (" in found.sentence()
    assert f"{text}." in " ".join(str(found).split()).partition("Warning: ")[2]
    assert text in found.to_json()


@pytest.mark.parametrize("command", ["compare", "diff"])
def test_a_warning_that_rows_may_be_others_comes_before_the_answer(command):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 12))
    Y = X @ np.linalg.qr(rng.standard_normal((12, 12)))[0]
    moved = np.concatenate([Y[:100], Y[101:], Y[:1]])
    with pytest.warns(shesha.CalibrationWarning, match="row offset"):
        found = getattr(shesha, command)(X, moved)
    assert str(found).startswith("Check first: row offset: rows of ")
    assert "Warning: row offset" not in str(found)
    assert "warning: row offset: rows of " in found.sentence()
    assert found._page().answer  # The page has an answer of its own, after the warning.
    assert found.add_statements(found._page()).answer[0].startswith("Check first: row offset")
