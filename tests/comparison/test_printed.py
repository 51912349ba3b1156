"""How comparisons print, and what they become: every number says which way is closer, what is missing says why."""

from dataclasses import replace

import pytest

from shesha.results import Comparison, PairwiseComparison, Score, comparison
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


def test_a_score_is_found_whatever_the_case_and_punctuation():
    assert TWO["cka"] is TWO["C-K a"] is CKA
    with pytest.raises(KeyError, match="measure must be one of CKA, GULP, RSA, MMD, ProcDist, RV, EOS, got 'x'"):
        TWO["x"]


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


@pytest.mark.parametrize(("value", "high", "said"), [(-0.9, -0.8, True), (-0.9, 0.1, False), (-0.1, -0.05, False)])
def test_similarities_in_place_of_distances_are_suspected(value, high, said):
    tested = replace(RSA, value=value, low=-1.0, high=high, chance=0.0, threshold=0.1, p_value=1.0, n_draws=199)
    text = " ".join(comparison.pair_sentences("X", "Y", [tested], 0.05))
    assert ("similarities instead of distances" in text) == said
