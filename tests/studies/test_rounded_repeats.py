"""A number that a paper prints again with fewer decimals counts once."""

import pandas as pd
import pytest

from shesha_studies.framework.check_kinds import kinds
from shesha_studies.framework.checks import Found
from shesha_studies.framework.published_checks import against


def counted(published, ours=("0.2043", "0.2043"), study=("a", "a")):
    lines = pd.DataFrame({"study": study, "published": published, "ours": ours})
    return kinds(lines.assign(where="Paper, 1", what=["text", "figure"], basis="", transcribed=False)).tolist()


@pytest.mark.parametrize(
    ("first", "second"), [("0.204", "0.2"), ("0.204", "0.20"), ("-0.079", "-0.08"), ("0.825", "0.83"), ("0.002", "0.0")]
)
def test_a_rounded_number_is_a_repeat(first, second):
    assert counted((first, second)) == ["result", "repeat"]


@pytest.mark.parametrize(
    ("first", "second"), [("0.987", "0.990"), ("0.204", "0.21"), ("0.20", "0.204"), ("0.204", "high"), ("0.204", "0")]
)
def test_another_number_is_not_a_repeat(first, second):
    assert counted((first, second)) == ["result", "result"]


def test_repeats_need_the_same_number_of_ours_in_the_same_study():
    assert counted(("0.204", "0.20"), ours=("0.2043", "0.2044")) == ["result", "result"]
    assert counted(("0.204", "0.20"), ours=("", "")) == ["result", "result"]
    assert counted(("0.204", "0.20"), study=("a", "b")) == ["result", "result"]


def test_declared_decimals_keep_trailing_zeros():
    lines = pd.DataFrame({"where": "Paper, 1", "what": ["a", "b"], "key": ["a", "b"], "published": ["0.990", "0.990"]})
    checks = against(lines.assign(decimals=[3, None]), {"a": Found(0.99), "b": Found(0.99)})
    assert [check.published for check in checks] == ["0.990", 0.99]
    assert {check.verdict for check in checks} == {"agrees"}


def test_a_label_can_say_that_another_table_prints_the_number_in_another_unit():
    lines = pd.DataFrame({"study": "a", "where": "Paper, 1", "published": ["1.30", "0.013"], "ours": ["2.1", "0.021"]})
    labels = ["rank 8: drop", "rank 8: drop (repeats Table 51)"]
    assert kinds(lines.assign(what=labels, basis="", transcribed=False)).tolist() == ["result", "repeat"]
