"""Parts of pages of studies: notes, lines of the pages of papers, ticks, heat maps, and means of draws."""

import math

import numpy as np
import pandas as pd
import pytest

from shesha_studies.framework import published_checks
from shesha_studies.framework.checks import Check, as_table
from shesha_studies.framework.claims import NO, YES, Claim, Rule, judge
from shesha_studies.framework.counted_cells import cells_of_tables
from shesha_studies.framework.facts import Fact
from shesha_studies.framework.html_page import _verdict_sentence
from shesha_studies.framework.page import UNANSWERED, Page, save_page
from shesha_studies.framework.page_from_rows import condensed
from shesha_studies.framework.paper_pages import _claim_line, _ranges
from shesha_studies.framework.published_comparison import compare_with_published


@pytest.mark.parametrize(("notes", "text"), [((), ""), (("one",), "one\n\n"), (("one", "two"), "- one\n\n- two\n\n")])
def test_several_notes_are_a_list(tmp_path, notes, text):
    place = save_page(Page("It is.", notes=notes), tmp_path / "new", "A title", "Is it so?", "seven cells")
    assert place.read_text() == f"# A title\n\nIs it so?\n\n**It is.**\n\n{text}## What was run\n\nseven cells\n"


def test_a_page_without_an_answer_says_so(tmp_path):
    text = save_page(Page("", ()), tmp_path, "title", "Is it so?", "a run").read_text(encoding="utf-8")
    assert UNANSWERED in text
    assert "**" not in text


def test_draws_have_a_mean_and_two_have_a_spread():
    assert published_checks.draws(pd.Series([1.0, 3.0])) == published_checks.Found(2.0, math.sqrt(2), n=2)
    assert published_checks.draws(pd.Series([1.5]), "few").error == 0
    assert published_checks.draws(pd.Series([1.5]), "few").ours == 1.5
    assert published_checks.draws(pd.Series([], dtype=float)).ours is None


def test_numbers_are_found_by_table_row_and_name():
    lines = pd.DataFrame(
        {
            "where": [published_checks.PAPER + one for one in ("Table 1", "Table 1", "Table 2", "Table 1")],
            "row": ["a", "b", "a", 3],
            "number": ["rho", "rho", "rho", "n"],
            "published": ["0.1", "0.2", "0.3", "7"],
        }
    )
    assert published_checks.number(lines, "Table 1", "b", "rho") == 0.2
    assert published_checks.number(lines, "Table 2", "a", "rho") == 0.3
    assert published_checks.number(lines, "Table 1", "3", "n") == 7
    assert published_checks.lines_of(lines, "Table 2", "Table 3").published.tolist() == ["0.3"]


def test_claims_in_words_are_told_apart_from_numbers():
    lines = pd.DataFrame({"key": ["claim/a", "b"], "published": ["yes", "1"]})
    numbers, worded = published_checks.split_numbers_and_claims(lines)
    assert numbers.key.tolist() == ["b"]
    assert worded.key.tolist() == ["a"]
    assert published_checks.claim_key({"key": "claim/a"}) == "a"
    assert published_checks.claim_key({"key": float("nan")}) == published_checks.claim_key({}) == ""


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


def test_ranges_of_tables():
    assert _ranges(["Table 10", "Table 3", "Table 4", "journal Table 2"]) == "Tables 3 to 4, 10; journal Tables 2"


def test_only_cells_that_need_an_experiment_are_counted():
    lines = [
        Check("P, Table 1", "rho", 0.5, 0.4, "differs"),
        Check("P, Table 1", "classes", 10.0, 10.0, "agrees"),
        Check("P, Table 1", "sum", 0.5, 0.5, "agrees", basis="its own printed numbers"),
        Check("P, Table 1", "size", 7.5, 7.5, "agrees", transcribed=True),
        Check("P, Table 1 and Figure 2", "rho", 0.5, 0.4, "differs"),
        Check("P, 2.1", "rho", 0.5, 0.4, "differs"),
        Check("P (journal), Table 2", "6 numbers", "numbers", None, "not reachable"),
    ]
    cells = cells_of_tables(as_table(lines))
    assert list(zip(cells.table, cells.what, cells.compared, strict=True)) == [
        ("Table 1", "rho", True),
        ("journal Table 2", "6 numbers", False),
    ]


def test_numbers_without_a_value_of_ours_are_one_line_per_table_and_reason():
    lines = [("a", 1.0, "no data"), ("b", 2.0, "no data"), ("c", "so", "no data"), ("d", 3.0, "other")]
    absent = [Check("P, Table 1", what, value, None, "not reachable", why) for what, value, why in lines]
    shown = condensed([*absent, Check("P, 1", "e", 1.0, 1.0, "agrees")])
    assert [one.what for one in shown] == ["2 numbers", "c", "d", "e"]
    assert [one.published for one in shown] == ["numbers", "so", 3.0, 1.0]


def test_declared_decimals_keep_trailing_zeros():
    lines = pd.DataFrame({"where": "Paper, 1", "what": ["a", "b"], "key": ["a", "b"], "published": ["0.990", "0.990"]})
    answers = {"a": published_checks.Found(0.99), "b": published_checks.Found(0.99)}
    checks = published_checks.against(lines.assign(decimals=[3, None]), answers)
    assert [check.published for check in checks] == ["0.990", 0.99]
    assert {check.verdict for check in checks} == {"agrees"}


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


@pytest.mark.parametrize(
    ("verdicts", "sentence"),
    [
        ((), ""),
        (("agrees",), "The only published number or claim agrees."),
        (("not run",), "The only published number or claim was not run."),
        (("agrees", "differs"), "Of 2 published numbers and claims, 1 agrees, 1 differs."),
        (("differs", "agrees", "agrees"), "Of 3 published numbers and claims, 2 agree, 1 differs."),
    ],
)
def test_verdicts_are_counted_in_a_sentence(verdicts, sentence):
    assert _verdict_sentence([Check("Paper", "a", 1.0, 1.0, one, "a reason") for one in verdicts]) == sentence


def test_every_second_tick_is_left_out_where_there_are_seven():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from shesha_studies.framework.pictures import figure, heat, logarithmic

    made, (first, second, third) = figure(3)
    logarithmic(first, [8, 2, 4, 2])
    assert [one.get_text() for one in first.get_xticklabels()] == ["2", "4", "8"]
    logarithmic(second, range(1, 7))
    assert len(second.get_xticks()) == 6
    logarithmic(third, range(1, 8))
    # The largest stays.
    assert [one.get_text() for one in third.get_xticklabels()] == ["1", "3", "5", "7"]
    assert first.get_xscale() == "log"
    assert made.get_size_inches()[0] == pytest.approx(3 * 4.3)
    _, (ax,) = figure()
    heat(ax, pd.DataFrame([[0.2, np.nan], [0.5, 0.9]], [1, 2], ["a", "b"]), limits=(0.0, 1.0))
    told = {one.get_text(): (one.get_color(), one.get_position()) for one in ax.texts}
    assert told == {"0.20": ("white", (0, 0)), "0.50": ("white", (0, 1)), "0.90": ("black", (1, 1))}
    matplotlib.pyplot.close("all")
