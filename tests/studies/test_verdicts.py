"""No p-value above 0.05 decides a claim: an interval does, or the claim is inconclusive."""

import re
import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest

from shesha_studies.framework.checks import AGREES, HOLDS_NOT, SAID, VERDICTS
from shesha_studies.framework.claims import OPERATORS
from shesha_studies.framework.facts import Fact
from shesha_studies.framework.page_from_rows import build_page
from shesha_studies.framework.run_studies import load_run, write_page

COMMITTED = Path(__file__).parents[2] / "docs" / "studies"


@pytest.mark.parametrize(
    ("low", "high", "answer"),
    [
        (0.1, 0.5, "no"),
        (-0.5, -0.01, "no"),
        (-0.2, 0.25, "yes"),
        (-0.3, 0.3, "yes"),
        (-0.31, 0.1, "inconclusive"),
        (-0.1, 0.6, "inconclusive"),
    ],
)
def test_an_interval_decides_whether_two_things_are_unrelated(low, high, answer):
    assert OPERATORS["within"](Fact((low + high) / 2, low, high), 0.3) == answer


def test_no_study_decides_a_claim_in_code():
    """Verdicts of claims are rules in data; code compares numbers, orders, and p-values that follow from others."""
    root = Path(find_spec("shesha_studies").submodule_search_locations[0])
    verdicts = re.compile(r"\b(?:HOLDS_NOT|NOT_FOUND|INCONCLUSIVE|DIFFERS)\b")
    studies = (place for place in root.rglob("*.py") if place.parent.name != "framework")
    deciding = {place.name for place in studies if verdicts.search(place.read_text())}
    numbers = {"_neuroscience_page.py", "_crispr_page.py", "_steering_statistics.py", "printed_p_values.py"}
    numbers |= {"phase_diagrams_by_noise.py", "ground_truth.py"}  # The settings of some numbers are not printed.
    assert deciding == numbers


def test_every_verdict_has_its_words():
    assert set(SAID) == set(VERDICTS)


def verdict_of(rows, words):
    """Verdict of a claim of the study of recordings, from rows that may have been changed."""
    from shesha_studies.biology.neuroscience import neuroscience

    page, _ = build_page(neuroscience, rows)
    return next(one.verdict for one in page.checks if words in one.what)


@pytest.fixture(scope="module")
def recordings():
    return load_run("neuroscience", COMMITTED).rows


@pytest.mark.parametrize(
    ("claim", "column", "value", "before", "after"),
    [
        ("differ more than halves", "drift_p", 0.5, AGREES, HOLDS_NOT),
        ("a z of -45", "shifted_p", 0.5, AGREES, HOLDS_NOT),
    ],
)
def test_a_fact_past_its_threshold_changes_the_verdict(recordings, claim, column, value, before, after):
    assert verdict_of(recordings, claim) == before
    assert verdict_of(recordings.assign(**{column: value}), claim) == after


def test_the_page_is_written_of_a_folder_that_has_the_rows_alone(tmp_path):
    shutil.copytree(COMMITTED / "width", tmp_path / "width")
    (tmp_path / "width" / "page.md").unlink()
    assert write_page("width", tmp_path).read_text().startswith("# width")
    assert not list(tmp_path.glob("*.sqlite"))


def test_a_folder_without_rows_is_refused(tmp_path):
    with pytest.raises(ValueError, match="out must contain rows of alpha, got none"):
        write_page("alpha", tmp_path)
