"""The text card of a measure, and the list of all measures."""

from __future__ import annotations

import inspect
from collections.abc import Iterable

from shesha.measures._lookup import load_entry_points
from shesha.measures.moment_compatibility import takes_moments
from shesha.measures.registry import IMPLIED, Measure, registered_measures
from shesha.report import (
    CHANGES,
    changes_in_words,
    markdown_table,
    options_in_words,
    page_width,
    range_in_words,
    wrap,
)
from shesha.report import card as as_card
from shesha.support import argument_types as kinds

_COSTS = {
    "n d": "one pass over the features",
    "n d^2": "n d^2: a decomposition of the features",
    "n d^2 + d^3": "n d^2 + d^3: a matrix of features by features",
    "n^2 d": "n^2 d: comparisons of all pairs of rows",
    "more": "more than n^2 d: computed only on request",
}


def card(measure: Measure) -> str:
    """Return the card that describes a measure, as text."""
    kinds.instance(measure, Measure, "measure", "a Measure, as `shesha.measures.get` returns")
    return as_card(f"{measure.name}: {first_sentence(measure)}", facts(measure))


def first_sentence(measure: Measure) -> str:
    """Return the first paragraph of the measure's documentation."""
    return measure.doc.split("\n\n")[0].replace("\n", " ")


def facts(measure: Measure) -> list[tuple[str, str]]:
    """Return the lines of a card: the declared and tested properties of the measure."""
    entries = [
        ("formula", measure.formula),
        ("range", f"{measure.closer} is closer, {range_in_words(measure.bounds)}"),
        ("f(X, X)", "not a fixed value" if measure.self_value is None else f"{measure.self_value:g}"),
        ("symmetry", "f(X, Y) = f(Y, X)" if measure.symmetric else "f(X, Y) differs from f(Y, X)"),
        ("unchanged by", _invariances(measure)),
        ("changed by", _others(measure)),
        ("rows", "must correspond" if measure.paired else "need not correspond; their numbers may differ"),
        ("cost", _COSTS[measure.cost]),
        ("large data", "exact in one pass, with shesha.Moments" if takes_moments(measure) else ""),
        ("computed from", f"{measure.view.__name__}: {_first_line(measure.view)}"),
        ("options", options_in_words(measure.parameters)),
        ("family", measure.family),
        ("reference", measure.reference),
        ("function", f"{_place(measure)}.{measure.function.__name__}(X, Y)"),
    ]
    if measure.anywhere:
        entries.insert(8, ("arrays", "of any array library; arrays on a GPU stay there"))
    if measure.takes_distances:
        entries.insert(8, ("distances", "accepted instead of features (shesha.Rdm)"))
    return [entry for entry in entries if entry[1]] + [("caveat", caveat) for caveat in measure.caveats]


def overview(of: Iterable[Measure] | None = None) -> str:
    """Return the list of all measures, or of the given ones, by family."""
    load_entry_points()
    measures = list(registered_measures().values() if of is None else kinds.several(of, Measure, "of", "measures"))
    side = max((len(measure.name) for measure in measures), default=0)
    lines = []
    for family in dict.fromkeys(measure.family for measure in measures):
        lines.append(family)
        for measure in measures:
            if measure.family == family:
                head = f"  {measure.name:<{side}}  {measure.closer:<6} is closer  "
                first, *rest = wrap(first_sentence(measure), page_width(), " " * len(head), "")
                lines += [head + first.lstrip(), *rest]
    return "\n".join([*lines, "", "shesha measures NAME describes one."])


def page() -> str:
    """Return the cards of all measures as a page of the documentation."""
    parts = [_HEAD]
    measures = registered_measures()
    for family in dict.fromkeys(measure.family for measure in measures.values()):
        parts.append(f"## {family.capitalize()}")
        parts += [_section(measure) for measure in measures.values() if measure.family == family]
    return "\n\n".join(parts) + "\n"


_HEAD = """\
# Measures

This page lists every similarity measure with its properties, such as range, invariances, cost and caveats. Use it to
look up a measure; `shesha measures NAME` prints the same card. Tests check each declared property on data.
`python scripts/make_measures_page.py` generates this page from the code."""


def _section(measure: Measure) -> str:
    rows = markdown_table(["", ""], [[title, _escape(text)] for title, text in facts(measure)])
    return f"### {measure.name}\n\n{first_sentence(measure)}\n\n{rows}"


def _escape(text: str) -> str:
    return text.replace("*", "\\*").replace("_", "\\_").replace("<", "&lt;")


def _invariances(measure: Measure) -> str:
    implied = {more for change in measure.invariant for more in IMPLIED.get(change, ())}
    return changes_in_words(measure.invariant - implied)


def _others(measure: Measure) -> str:
    simple = ("orthogonal", "permutation", "scaling", "translation")
    return ", ".join(CHANGES[change] for change in simple if change not in measure.invariant)


def _place(measure: Measure) -> str:
    module = measure.function.__module__
    return "shesha.measures" if module.startswith("shesha.measures.") else module


def _first_line(view: type) -> str:
    return (inspect.getdoc(view) or "").split("\n\n")[0].replace("\n", " ")
