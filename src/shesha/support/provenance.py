"""Statements on inputs: which matrix, rows and order were read, what was left out, and why numbers may mislead.

Code that reads or aligns inputs calls `state`, and each `CalibrationWarning` is a statement. Public functions are
marked with `keep_statements`, which stores the statements in the field `inputs` of their result. A command collects
the statements of everything that it does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import wraps
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

_RESTRICTION = re.compile(r"[\d,]+ of [\d,]+( (and|to) [\d,]+)? rows\b")

_WARNING = "warning: "
DOUBTS_OF_VALUES = (
    "raw counts",
    "two logarithms",
    "wrong type",
    "missing codes",
    "mixed lengths",
    "no variation",
    "angles",
    "rounded values",
)
"""Names of the doubts that the values are what was meant."""
_DOUBTS = "|".join(("row offset", "equal rows", "joined rows", "order of pairs", *DOUBTS_OF_VALUES))
_CLAIMS = r"another order|vectors of other rows|rows of \S+ under other|do not correspond|cannot identify rows"
_QUESTION = re.compile(rf"warning: (({_DOUBTS}): |.*\b({_CLAIMS})\b)")
"""Warnings that the rows, layers or values are others than those meant, which questions every number."""
_FEW, _MOST = 2, 6
"""Number of contents left out that are named with their reasons, and that are named at all."""

_statements: ContextVar[dict[str, bool] | None] = ContextVar("statements", default=None)
_features: ContextVar[dict[int, list[Callable[[], Iterable[object]]]] | None] = ContextVar("features", default=None)


def state(text: str, *, is_raised: bool = False) -> None:
    """State a decision about an input in a few words without a full stop, such as 'rows matched by id'.

    A statement that begins with a count of rows, such as '180 of 200 rows shared by id', restricts the answer, so texts
    and pages show it before the answer. A warning that was already raised is not raised again (see
    `warnings.warn_of_statements`).
    """
    collected = _statements.get()
    # Rows are aligned again where they are used, which then changes nothing.
    if collected is not None and not any(known.startswith(f"{text},") for known in collected):
        collected[text] = is_raised


def state_left_out(source: str, reasons: Mapping[str, str]) -> None:
    """State which contents of a file were left out, with the reasons if they are few."""
    names = list(reasons)
    if not names:
        return
    few = len(names) <= _FEW
    listing = (
        "; ".join(f"{name}, which {reason}" for name, reason in reasons.items()) if few else ", ".join(names[:_MOST])
    )
    state(f"{source}: left out {listing}{f' and {len(names) - _MOST} more' if len(names) > _MOST else ''}")


_SETTINGS = {"pool": "pooling", "prompt": "prompt", "chat_template": "chat template", "dtype": "precision"}
"""Settings of an extraction that change vectors, and what they are called."""


def state_other_settings(records: Mapping[str, Mapping[str, Any]]) -> None:
    """State which settings of extractions differ, and whether tokenizers give other tokens for the same texts."""
    (first, one), *others = records.items()
    for name, other in others:
        differ = {word: (one.get(key), other.get(key)) for key, word in _SETTINGS.items()}
        if one.get("cut_off") or other.get("cut_off"):
            differ["maximum number of tokens"] = one.get("max_tokens"), other.get("max_tokens")
        differ = {word: pair for word, pair in differ.items() if str(pair[0]) != str(pair[1])}
        for word, pair in differ.items():
            state(f"{word} {pair[0]!r} in {first}, {pair[1]!r} in {name}")
        inputs = [record.get("inputs") for record in (one, other)]
        tokens = [part.get("fingerprint") if isinstance(part, Mapping) else None for part in inputs]
        known = list(zip((one.get("texts"), other.get("texts")), tokens, strict=True))
        if not differ and all(map(all, known)) and known[0][0] == known[1][0] and known[0][1] != known[1][1]:
            state(f"the tokenizers of {first} and {name} give other tokens for the same texts")


def state_warning(message: str, *, is_raised: bool = False) -> None:
    """State why numbers may mislead, so that the result and its sentence for a paper keep the warning."""
    state(f"{_WARNING}{message}", is_raised=is_raised)


def is_warning(statement: str) -> bool:
    """Return whether a statement says that numbers may mislead."""
    return statement.startswith(_WARNING)


def unraised_warnings(statements: Mapping[str, bool]) -> list[str]:
    """Return the warnings among the statements that were not raised."""
    found = statements.items()
    return [text.removeprefix(_WARNING) for text, is_raised in found if is_warning(text) and not is_raised]


def distinct_warnings(statements: Iterable[str]) -> list[str]:
    """Return the first sentence of each different warning among the statements, without its p-value.

    Examples
    --------
    >>> distinct_warnings(["rows by position", "warning: p may be too small: rows repeat (p = 0.1). Pass groups="])
    ['p may be too small: rows repeat']
    """
    found = (text.removeprefix(_WARNING) for text in statements if is_warning(text))
    return list(dict.fromkeys(re.sub(r" \(p = [^)]*\)", "", text.split(". ")[0]) for text in found))


def questions_input(statement: str) -> bool:
    """Return whether a statement warns that rows, layers or values may be others than those meant.

    Examples
    --------
    >>> questions_input("warning: the rows seem to be those of the reference in another order; sort them")
    True
    >>> questions_input("warning: p-values may be too small: rows repeat")
    False
    """
    return _QUESTION.match(statement) is not None


def record_features(n_features: int, names: Callable[[], Iterable[object]]) -> None:
    """Keep the names of the features of a matrix, read only when needed, for the texts about its features."""
    known = _features.get()
    if known is not None:
        known.setdefault(n_features, []).append(names)


def name_features(features: Iterable[int], n_features: int) -> list[str]:
    """Return the names of features, or their numbers unless all matrices of this width have the same names.

    Examples
    --------
    >>> with collect_statements():
    ...     record_features(3, lambda: ["depth", "a", "b"])
    ...     name_features([0, 2], 3), name_features([0, 2], 4)
    (['depth', 'b'], ['0', '2'])
    """
    places = [int(feature) for feature in features]
    recorded = (_features.get() or {}).get(n_features, ())
    known = {tuple(map(str, names())) for names in recorded}
    if len(known) != 1 or len(names := known.pop()) != n_features:
        return list(map(str, places))
    return [names[place] for place in places]


def restricts_rows(statement: str) -> bool:
    """Return whether a statement says that some rows were left out."""
    return _RESTRICTION.match(statement) is not None


def restricts(statement: str) -> bool:
    """Return whether a statement says that something was left out."""
    return restricts_rows(statement) or statement.endswith(" left out")


@contextmanager
def collect_statements() -> Iterator[dict[str, bool]]:
    """Collect the statements of a block, each once and in order; an outer block receives them as well."""
    outer, own = _statements.get(), dict[str, bool]()
    token = _statements.set(own)
    token_of_features = _features.set({}) if outer is None else None
    try:
        yield own
    finally:
        _statements.reset(token)
        if token_of_features is not None:
            _features.reset(token_of_features)
        if outer is not None:
            outer.update(own)


@contextmanager
def ignore_statements() -> Iterator[None]:
    """Ignore the statements of a block, such as those of repeated steps that a user did not ask for."""
    token = _statements.set(None)
    try:
        yield
    finally:
        _statements.reset(token)


def current_statements() -> tuple[str, ...]:
    """Return the statements that the innermost block has collected so far."""
    return tuple(_statements.get() or ())


def add_statements(result: R, statements: Iterable[str]) -> R:
    """Return a result whose field `inputs` contains further statements; other objects are returned unchanged."""
    known = getattr(result, "inputs", None)
    if not isinstance(known, tuple) or not (merged := tuple(dict.fromkeys([*statements, *known]))):
        return result
    return replace(result, inputs=merged)  # type: ignore[type-var]


def keep_statements(function: Callable[P, R]) -> Callable[P, R]:
    """Store the statements on the inputs of a public function in its result."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> Any:
        with collect_statements() as statements:
            result = function(*args, **kwargs)
        return add_statements(result, statements)

    return call
