"""A card says all that is declared of a measure, in words, and the page of the documentation holds every card."""

from __future__ import annotations

from pathlib import Path

import pytest

import shesha.measures as measures
from shesha.measures.lookup import page

PAGE = Path(__file__).resolve().parents[2] / "docs" / "measures.md"
everyone = pytest.mark.parametrize("name", measures.names())


def plain(text):
    """Without the line breaks of wrapping."""
    return " ".join(text.split())


def entries(text):
    """Entries of a card: titles with their texts."""
    found: list[tuple[str, str]] = []
    for line in text.partition("\n\n")[2].split("\n"):
        title, rest = line[:16].strip(), line[16:]
        found = [*found, (title, rest)] if title else [*found[:-1], (found[-1][0], f"{found[-1][1]} {rest}")]
    return [(title, plain(rest)) for title, rest in found]


@everyone
def test_a_card_says_all_that_is_declared(name):
    measure = measures.get(name)
    text = measures.card(measure)
    title, meaning = (part.partition("\n\n")[0] for part in (text, measure.doc))
    assert plain(title) == plain(f"{name}: {meaning}")
    card = dict(entries(text))
    assert card["formula"] == plain(measure.formula)
    low, high = measure.bounds
    possible = f"{low:.4g} and up" if high == float("inf") else f"{low:.4g} to {high:.4g}"
    assert card["range"] == f"{measure.closer} is closer, {possible}"
    assert card["f(X, X)"] == ("not a fixed value" if measure.self_value is None else f"{measure.self_value:g}")
    assert ("differs" in card["symmetry"]) != measure.symmetric
    assert ("must correspond" in card["rows"]) == measure.paired
    assert card["reference"] == plain(measure.reference)
    assert card["family"] == measure.family
    assert ("distances" in card) == measure.takes_distances
    options = ", ".join(f"{option}={value!r}" for option, value in measure.parameters.items())
    assert card.get("options", "") == options
    assert [rest for title, rest in entries(text) if title == "caveat"] == [plain(one) for one in measure.caveats]
    assert max(map(len, text.split("\n"))) <= 100


@everyone
def test_the_call_on_a_card_exists(name):
    measure = measures.get(name)
    call = dict(entries(measures.card(measure)))["function"]
    function = getattr(measures, call.removeprefix("shesha.measures.").removesuffix("(X, Y)"))
    assert function.measure is measure


def test_the_page_holds_every_card():
    text = page()
    for name in measures.names():
        measure = measures.get(name)
        assert f"\n### {name}\n" in text
        assert plain(measure.doc.split("\n\n")[0]) in plain(text)
    assert [line[3:].lower() for line in text.split("\n") if line.startswith("## ")] == measures.families()


def test_the_page_is_up_to_date():
    if PAGE.read_text(encoding="utf-8") != page():
        pytest.fail("docs/measures.md is not what the measures declare: run `python scripts/make_measures_page.py`")
