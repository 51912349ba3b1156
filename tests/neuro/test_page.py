"""The page's example says what comes out."""

import doctest
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "neural_recordings.md"


def test_the_example_of_the_page_runs() -> None:
    found = doctest.testfile(str(PAGE), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert found.attempted >= 6
    assert found.failed == 0
