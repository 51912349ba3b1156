"""Every page explains its words, and the glossary of the site has them all."""

from itertools import pairwise
from pathlib import Path

import pytest

from shesha.report import Page
from shesha.report.words import WORDS

GLOSSARY = Path(__file__).parents[2] / "docs" / "glossary.md"


def test_the_glossary_defines_every_word_of_the_reports():
    lines = GLOSSARY.read_text(encoding="utf-8").splitlines()
    defined = [line for line, after in pairwise(lines) if after.startswith(": ")]
    assert set(WORDS) <= set(defined)


def test_a_page_explains_the_words():
    pytest.importorskip("jinja2")
    from shesha.report import as_html

    html = as_html(Page("title", "question", ("answer",)))
    assert all(f"<dt>{word}</dt>" in html for word in WORDS)
