"""Marks of Markdown in sentences: a small subset, in which nothing can become a script."""

import pytest
from hypothesis import given, strategies as st

from shesha.report.html import Span, is_safe_link, spans


def shown(found):
    """What a reader sees."""
    return "".join(one.text or shown(one.inner) for one in found)


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("a **b** c", ["plain", "strong", "plain"]),
        ("*a*, `b`", ["em", "plain", "code"]),
        ("[a](b.md)", ["link"]),
        ("2 * 3 * 4", ["plain"]),
        ("a*b*c and x**2 ** y", ["plain"]),
        ("** a ** and * b *", ["plain"]),
        ("`**a**`", ["code"]),
        ("[a](javascript:alert(1))", ["plain"]),
        ("[a]", ["plain"]),
        ("", []),
    ],
)
def test_marks_are_told_from_signs(text, kinds):
    assert [one.kind for one in spans(text)] == kinds


def test_marks_may_stand_within_marks():
    (bold,) = spans("**see [`x`](#a)**")
    assert bold.inner == (
        Span("plain", "see "),
        Span("link", inner=(Span("code", "x"),), target="#a"),
    )


@given(st.text("ab *`[]()<&", max_size=20))
def test_nothing_but_marks_is_lost(text):
    found = shown(spans(text))
    letters = [sign for sign in text if sign in "<&"]
    assert [sign for sign in found if sign in "<&"] == letters or "](" in text


@pytest.mark.parametrize(
    "target",
    [
        "javascript:1",
        "JavaScript:1",
        "data:text/html,a",
        "vbscript:1",
        "file:///a",
        "//host",
        "\\\\host",
        "\tjavascript:1",
    ],
)
def test_links_to_anything_else_stay_text(target):
    assert not is_safe_link(target)
    assert all(one.kind != "link" for one in spans(f"[a]({target})"))
