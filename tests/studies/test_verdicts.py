"""No p-value above 0.05 decides a claim: an interval does, or the claim is inconclusive."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from shesha.studies.checks import AGREES, DIFFERS, HOLDS_NOT, INCONCLUSIVE, SAID, VERDICTS
from shesha.studies.published import unrelated
from shesha.studies.running import found_of, write_page
from shesha.studies.study_rules import published_of
from shesha.studies.writing import checks_of_page, facts_of

COMMITTED = Path(__file__).parents[2] / "docs" / "studies"


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.1, 0.5, HOLDS_NOT),
        (-0.5, -0.01, HOLDS_NOT),
        (-0.2, 0.25, AGREES),
        (-0.3, 0.3, AGREES),
        (-0.31, 0.1, INCONCLUSIVE),
        (-0.1, 0.6, INCONCLUSIVE),
    ],
)
def test_an_interval_decides_whether_two_things_are_unrelated(low, high, verdict):
    assert unrelated({"low": low, "high": high}, "ours", "they are related").verdict == verdict


def test_every_verdict_has_its_words():
    assert set(SAID) == set(VERDICTS)


def verdict_of(rows, words):
    """Verdict of a claim of the study of recordings, from rows that may have been changed."""
    from shesha_studies.biology._neuroscience_page import make_page as page_of
    from shesha_studies.biology.neuroscience import neuroscience

    page = page_of(rows, published_of(neuroscience))
    checks = checks_of_page(neuroscience, page.checks, facts_of(neuroscience, rows))
    return next(one.verdict for one in checks if words in one.what)


@pytest.fixture(scope="module")
def recordings():
    return found_of("neuroscience", COMMITTED).rows


@pytest.mark.parametrize(
    ("claim", "column", "value", "before", "after"),
    [
        ("differ more than other halves", "shifted_p", 0.01, DIFFERS, AGREES),
        ("a z of -45", "shifted_p", 0.5, AGREES, HOLDS_NOT),
    ],
)
def test_a_fact_past_its_threshold_changes_the_verdict(recordings, claim, column, value, before, after):
    assert verdict_of(recordings, claim) == before
    assert verdict_of(recordings.assign(**{column: value}), claim) == after


def test_the_page_is_written_of_a_folder_that_has_the_rows_alone(tmp_path):
    shutil.copytree(COMMITTED / "alpha", tmp_path / "alpha")
    (tmp_path / "alpha" / "page.md").unlink()
    assert write_page("alpha", tmp_path).read_text().startswith("# alpha")
    assert not list(tmp_path.glob("*.sqlite"))


def test_a_folder_without_rows_is_refused(tmp_path):
    with pytest.raises(ValueError, match="out must hold rows of alpha, got none"):
        write_page("alpha", tmp_path)
