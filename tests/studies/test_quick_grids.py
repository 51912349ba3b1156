"""The script that computes quick grids again: it takes each cell with its own row, and finds what differs."""

import importlib.util
import math
from pathlib import Path

import pandas as pd
import pytest

from shesha_studies import find, run

PLACE = Path(__file__).parents[2] / "scripts" / "rerun_quick_grids.py"
pytestmark = pytest.mark.usefixtures("importable")


@pytest.fixture
def script():
    spec = importlib.util.spec_from_file_location("rerun_quick_grids", PLACE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_cells_are_computed_again_and_a_changed_number_is_found(script, tmp_path):
    run(["mine:many"], out=tmp_path)
    many, rows = find("mine:many"), pd.read_csv(tmp_path / "many" / "rows.csv")
    expected = {"cells": 4, "committed": 4, "computed": 4, "differ": 0, "missing data": 0, "left": 0}
    assert script.rerun(many, rows, 60.0) == (expected, [])
    rows.loc[rows.x == 2, "drawn"] *= 1.0001
    counts, found = script.rerun(many, rows[rows.x != 3], 60.0)
    assert (counts["committed"], counts["differ"]) == (3, 1)
    assert len(found) == 1 and found[0].startswith("  {'x': 2}: drawn: ")
    assert script.rerun(many, rows, -1.0)[0]["left"] == 4


@pytest.mark.parametrize(
    ("value", "other", "agree"),
    [
        (0.123456789, 0.123457, True),
        (0.1235, 0.1234, False),
        (math.nan, math.nan, True),
        (None, math.nan, True),
        (0.1, math.nan, False),
        (3, 3.0, True),
        ("a", "b", False),
    ],
)
def test_values_agree_up_to_the_digits_of_a_table(script, value, other, agree):
    assert script.same(value, other) is agree


@pytest.mark.parametrize(("value", "text"), [(0.0, "0"), (0, "0"), (math.nan, ""), (None, ""), (0.1, "0.1")])
def test_parameters_are_compared_as_text(script, value, text):
    assert script.parameter_text(value) == text
