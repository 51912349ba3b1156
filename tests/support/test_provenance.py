"""Statements on inputs are collected once, in order, reach outer blocks, and end in the result."""

import dataclasses

import numpy as np

import shesha
from shesha.results import Faults, load
from shesha.support.provenance import collect_statements, collected_statements, keep_statements, state


def test_statements_are_collected_once_in_order_and_reach_outer_blocks():
    with collect_statements() as outer:
        state("a")
        with collect_statements() as inner:
            state("b")
            state("b")
            assert collected_statements() == ("b",)
        state("c")
    assert (list(inner), list(outer)) == (["b"], ["a", "b", "c"])
    state("outside of any block")
    assert collected_statements() == ()


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
