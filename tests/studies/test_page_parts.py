"""Parts of pages of studies: notes, lines of the pages of papers, ticks, heat maps, and means of draws."""

import math

import pandas as pd
import pytest

from shesha_studies.framework.claims import NO, YES, Claim, Rule, judge
from shesha_studies.framework.facts import Fact
from shesha_studies.framework.paper_pages import _claim_line
from shesha_studies.framework.published_comparison import compare_with_published


def judged(on, control, **fields):
    rule = Rule("rho", "above", 0.0, "a reason", {YES: "Found.", NO: "Not found."})
    survives = Rule("left", "above", 0.0, "a reason", {YES: "Left.", NO: "Gone."}, "the length held constant")
    claim = Claim("P", "a", "own", "Table 1", "it is", on, "{rho:.1f}.", rule, survives if control else None, **fields)
    return judge(claim, {"rho": Fact(1.0), "left": Fact(-1.0)})


@pytest.mark.parametrize(
    ("one", "answers"),
    [
        (judged("its recipe", False), ["✓ yes", "none needed"]),
        (judged("its recipe", True), ["✓ yes", "✗ no (the length held constant)"]),
        (judged("other models", True), ["✓ yes", "✗ not on our stand-ins (the length held constant)"]),
        (judged("its own printed numbers", False), ["✓ its tables support it", "none needed"]),
        (
            judged("its recipe", True, conceded="2.4"),
            ["✓ yes", "✗ no (the length held constant); the authors say so (2.4)"],
        ),
    ],
)
def test_answers_of_a_claim_on_its_page(one, answers, tmp_path):
    line = _claim_line(one, tmp_path)
    assert line[:3] == ["“it is” (Table 1)", *answers]
    assert line[3] == f"{one.claim.on} (`own`)"


def test_published_numbers_meet_the_means_of_their_draws():
    ours = pd.DataFrame({"k": [1, 1, 1, 2], "score": [0.4, 0.5, 0.6, 0.9]})
    paper = pd.DataFrame({"k": [1, 2, 3, 1], "score": [0.55, 0.8, 0.5, math.nan]})
    found = compare_with_published(ours, paper, ["k"], ["score", "absent"])
    assert found.ours.tolist() == pytest.approx([0.5, 0.9, math.nan], nan_ok=True)
    assert found.sd.tolist() == pytest.approx([0.1, math.nan, math.nan], nan_ok=True)
    assert found.difference.tolist() == pytest.approx([-0.05, 0.1, math.nan], nan_ok=True)
    assert found.draws.tolist() == [3, 1, 0]
    assert found.verdict.tolist() == ["agrees", "differs", "not run"]
    assert compare_with_published(ours, paper[:1], [], ["score"]).draws.tolist() == [4]
