"""How comparisons print, and what they become: every number says which way is closer, what is missing says why."""

import json
import pickle
import re
from dataclasses import FrozenInstanceError, fields, replace

import numpy as np
import pytest

from shesha import Rdm, compare, compare_all, compare_layers
from shesha.results import Comparison, LayerComparison, Number, PairwiseComparison, Score, comparison
from shesha.results.comparison import plain_name

NAN = float("nan")
CKA = Score(
    name="CKA", family="kernels", value=0.81236, closer="higher", possible_low=0.0, possible_high=1.0, seconds=0.0123
)
RSA = Score(
    name="RSA", family="distances", value=-0.5, closer="higher", possible_low=-1.0, possible_high=1.0, seconds=0.2
)
DISTANCE = Score(
    name="ProcDist",
    family="shape",
    value=123456.0,
    closer="lower",
    possible_low=0.0,
    possible_high=float("inf"),
    seconds=3.0,
)
OTHER_KERNEL = Score(
    name="RV", family="kernels", value=0.25, closer="higher", possible_low=0.0, possible_high=1.0, seconds=0.001
)
GULP = Score(
    name="GULP",
    family="regression",
    value=NAN,
    closer="lower",
    possible_low=0.0,
    possible_high=float("inf"),
    seconds=0.0,
    reason="all rows are equal",
)
EOS = Score(
    name="EOS",
    family="regression",
    value=NAN,
    closer="higher",
    possible_low=0.0,
    possible_high=1.0,
    seconds=0.0,
    reason="all rows are equal",
)
MMD = Score(
    name="MMD",
    family="distributions",
    value=NAN,
    closer="lower",
    possible_low=0.0,
    possible_high=1.4142,
    seconds=0.0,
    reason="needs equal widths",
)
TWO = Comparison(
    "before", "after", ((12_000, 64), (12_000, 8, 7, 7)), (CKA, GULP, RSA, MMD, DISTANCE, OTHER_KERNEL, EOS), 7
)
PAIRS = (
    replace(CKA, first="a", second="b"),
    replace(replace(CKA, value=NAN, reason="c: all rows are equal"), first="a", second="c"),
    replace(replace(CKA, value=NAN, reason="c: all rows are equal"), first="b", second="c"),
)
ALL = PairwiseComparison(("a", "b", "c"), ((9, 2),) * 3, PAIRS, {"CKA": True}, {"CKA": 1.0}, 7)
GRID = LayerComparison.untested(["a"], ["b", "c"], PAIRS[:2], seed=7)
RESULTS = [CKA, GULP, PAIRS[0], TWO, ALL, GRID]

everything = pytest.mark.parametrize("result", RESULTS, ids=lambda result: type(result).__name__)


def is_known(value):
    return value == value and value not in ((), "", None)


def words(result):
    """The full text of a result without line breaks."""
    return " ".join(result.full_text().split())


def rows(result):
    """The cells of every line of the full text."""
    return [line.split() for line in result.full_text().split("\n")]


def test_a_score_prints_which_way_is_closer():
    assert str(CKA) == "CKA 0.8124\n  higher is closer, possible values 0 to 1"
    assert str(DISTANCE) == "ProcDist 1.235e+05 (lower is closer)\n  possible values from 0"
    assert str(GULP) == "GULP: not estimable (all rows are equal)"


def test_a_comparison_says_what_is_compared():
    assert "before (12,000 x 64) and after (12,000 x 8 x 7 x 7)" in words(TWO)
    given = replace(TWO, shapes=((12_000,), (12_000, 64)))
    assert "before (distances of 12,000 rows) and after (12,000 x 64)" in words(given)


def test_a_comparison_says_at_once_whether_it_is_above_chance():
    assert TWO.headline == "Raw values, not tested against chance: RSA -0.500."
    expected = replace(CKA, name="unbiased CKA", chance=0.0)
    assert replace(TWO, scores=(expected,)).headline.endswith(": unbiased CKA 0.812 (chance level 0.000).")
    above = replace(CKA, p_value=0.005, corrected_p_value=0.02)
    below = replace(RSA, p_value=0.3, corrected_p_value=0.3)
    assert replace(TWO, scores=(above, below)).headline == (
        "1 of 2 measures is above chance at 0.05, corrected for the number of measures."
    )
    none = replace(TWO, scores=(below, replace(above, corrected_p_value=0.06)))
    assert str(none).split("\n")[:2] == [
        "None of 2 measures are above chance at 0.05, corrected for the number of",
        "measures. The smallest p-value is 0.06 (CKA).",
    ]
    assert replace(TWO, scores=(GULP,)).headline.startswith("No measure could be computed")


def test_each_number_says_which_way_is_closer():
    found = rows(TWO)
    assert ["value", "closer", "is"] in found
    for cells in (["CKA", "0.812", "higher"], ["RV", "0.250", "higher"], ["RSA", "-0.500", "higher"]):
        assert cells in found
    assert ["ProcDist", "1.235e+05", "lower"] in found
    assert "closer is" not in replace(TWO, scores=(CKA, RSA)).full_text(), "higher is usual"


def test_what_is_missing_is_grouped_by_its_reason():
    assert "Without a value\n  - GULP, EOS: all rows are equal\n  - MMD: needs equal widths" in TWO.full_text()


def test_long_lists_of_what_is_missing_are_wrapped():
    many = tuple(replace(GULP, name=f"measure number {i}") for i in range(20))
    lines = replace(TWO, scores=many).full_text().split("\n")
    assert any(line.startswith("  - measure number 0, ") for line in lines)
    assert max(map(len, lines)) <= 100


def test_values_without_chance_levels_say_so():
    assert "Whether these values exceed chance was not tested." in words(TWO)


def test_an_interrupted_comparison_says_so():
    assert "! Interrupted: the remaining measures were not compared." in str(replace(TWO, interrupted=True))
    assert "Interrupted" not in str(TWO)


def test_a_score_is_found_whatever_the_case_and_punctuation():
    assert TWO["cka"] is TWO["C-K a"] is CKA
    with pytest.raises(KeyError, match="measure must be one of CKA, GULP, RSA, MMD, ProcDist, RV, EOS, got 'x'"):
        TWO["x"]


def test_all_pairs_print_a_matrix_per_measure_and_why_numbers_are_missing():
    found = rows(ALL)
    title = ["CKA", "of", "each", "pair", "(higher", "is", "closer)"]
    assert found[found.index(title) + 1 :][:4] == [["a", "b", "c"], ["a", "1.00", "0.81"], ["b", "0.81", "1.00"], ["c"]]
    assert "! CKA: no value for 2 of 3 pairs: c: all rows are equal" in str(ALL)
    assert "! Interrupted: the remaining values were not computed." in str(replace(ALL, interrupted=True))


def test_each_reason_tells_for_how_many_pairs(layers):
    X = layers["early"]
    given = {
        "early": X,
        "flat": np.ones((40, 11)),
        "noise": layers["noise"],
        "far": Rdm(np.ones((40, 40)) - np.eye(40)),
    }
    text = words(compare_all(given, ["CKA", "LinReg"]))
    told = re.findall(r"! \w+: no value for \d+ of \d+ pairs: [^!]*?(?:equal|rows)(?= !| The| Whether)", text)
    # LinReg is compared in both orders.
    assert told == [
        "! CKA: no value for 2 of 6 pairs: flat: all rows are equal",
        "! CKA: no value for 3 of 6 pairs: needs the features, got distances between rows",
        "! LinReg: no value for 4 of 12 pairs: flat: all rows are equal",
        "! LinReg: no value for 6 of 12 pairs: needs the features, got distances between rows",
    ]


def test_printing_grows_with_the_number_of_scores_and_no_faster(monkeypatch):
    """30 representations by all measures take longer to print than to compare."""
    calls = []

    def counted(name):
        calls.append(name)
        return plain_name(name)

    monkeypatch.setattr(comparison, "plain_name", counted)

    def work(n):
        measures = {f"m{i}": replace(CKA, name=f"m{i}") for i in range(n)}
        scores = tuple(replace(pair, name=name) for name in measures for pair in PAIRS)
        calls.clear()
        str(replace(ALL, scores=scores, symmetric=dict.fromkeys(measures, True), self_values=dict.fromkeys(measures)))
        return len(calls)

    # Four times as many scores.
    assert work(40) <= 6 * work(10)


def test_a_grid_prints_its_closest_pair_and_why_numbers_are_missing():
    text = str(GRID)
    assert text.startswith("The closest layers are a and b: CKA 0.812.\nClosest partners: a - b.\n")
    assert "  CKA (higher is closer)\n        b  c\n  a  0.81\n  1 x 2 layers." in text
    assert "No value: c: all rows are equal." in text


def test_an_interrupted_grid_says_so():
    missing = replace(CKA, value=NAN, reason="interrupted")
    scores = (PAIRS[0], replace(missing, first="a", second="c"))
    text = str(replace(GRID, scores=scores, interrupted=True))
    assert "interrupted" in text.lower()


def test_a_table_has_a_line_per_measure():
    table = TWO.to_frame()
    assert list(table.columns) == ["name", "value", "verdict"], "columns without any value are left out"
    assert list(table["name"]) == [score.name for score in TWO.scores]
    assert table["value"].isna().tolist() == [not score.has_value for score in TWO.scores]
    assert table["verdict"].tolist() == ["not tested" if score.has_value else "no value" for score in TWO.scores]
    full = TWO.to_frame(full=True)
    known = {field.name for field in fields(Score)} - {"inputs", "null", "doubts"}  # which are not numbers
    assert set(full.columns) == {*known, *Score.aliases} and not full.columns.duplicated().any()
    assert full["value"].equals(table["value"])
    assert full.loc[1, "reason"] == "all rows are equal"


def test_a_score_is_a_table_of_one_line():
    row = CKA.to_frame(full=True).loc[0].to_dict()
    plain = {name: value for name, value in CKA.to_dict().items() if name not in ("null", "doubts")}
    assert plain == {name: row[name] for name in plain}
    assert {name for name, value in row.items() if value == value and value not in ("", None)} <= {*plain, "notes"}


@everything
def test_plain_values_are_json_and_a_copy(result):
    plain = result.to_dict()
    known = {*(field.name for field in fields(result) if field.name != "inputs"), *result.aliases}
    if isinstance(result, Number):
        unknown = known - set(plain)
        assert known >= set(plain) >= {"name", "value", "closer", "significant"}
        assert not any(is_known(getattr(result, name)) for name in unknown)
    else:
        assert set(plain) == known
    text = json.dumps(plain, allow_nan=True)
    assert json.loads(text).keys() == plain.keys()
    for value in plain.values():
        if isinstance(value, dict):
            value.clear()
    assert json.dumps(result.to_dict(), allow_nan=True) == text


@pytest.mark.parametrize(
    "make",
    [
        lambda layers: compare(layers["early"], layers["narrow"], seed=np.random.default_rng(0)),
        lambda layers: compare_all(layers, ["CKA", "LinReg", "MMD"]),
        lambda layers: compare_layers(layers, layers, "MMD"),
    ],
)
def test_what_comparisons_return_is_json_and_pickles(layers, make):
    result = make(layers)
    text = json.dumps(result.to_dict(), allow_nan=True)
    again = pickle.loads(pickle.dumps(result))
    assert json.dumps(again.to_dict(), allow_nan=True) == text
    assert str(again) == str(result)


@everything
def test_results_cannot_be_changed(result):
    for field in fields(result):
        with pytest.raises(FrozenInstanceError):
            setattr(result, field.name, None)


def test_an_interval_shows_without_a_chance_level():
    text = str(Comparison("a", "b", ((9, 2), (9, 2)), (replace(DISTANCE, low=5.0, high=7.0),)))
    assert "[5.000, 7.000]" in text


def test_a_note_is_told_once_for_all_that_share_it():
    scores = (
        replace(CKA, notes=("no interval",)),
        replace(RSA, notes=("no interval",)),
        replace(DISTANCE, notes=("other",)),
    )
    found = Comparison("a", "b", ((9, 2), (9, 2)), scores)
    assert "Notes\n  - CKA, RSA: no interval\n  - ProcDist: other" in str(found)
    page = repr(found.page())
    assert all(f"'{text}'" in page for text in ("CKA, RSA: no interval", "ProcDist: other"))


def test_a_comparison_goes_through_its_scores():
    assert list(TWO) == list(TWO.scores)
