"""Text layout of a card, which has a heading and entries with titles."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from inspect import Parameter
from typing import Any

from shesha.report._wrapping import page_width, wrap

CHANGES = {
    "affine": "any invertible affine map",
    "linear": "any invertible linear map",
    "orthogonal": "rotations and reflections",
    "permutation": "reordering features",
    "scaling": "scaling all features equally",
    "translation": "shifting all rows equally",
}
"""Changes to a representation to which a number may be invariant, in words."""


def card(head: str, entries: Iterable[tuple[str, str]]) -> str:
    """Return a heading, then the title and text of each entry; entries without text are omitted.

    Examples
    --------
    >>> print(card("CKA: alignment of kernels.", [("range", "higher is closer"), ("options", "")]))
    CKA: alignment of kernels.
    <BLANKLINE>
      range         higher is closer
    """
    width = page_width()
    lines = [line for title, text in entries for line in _entry(title, text, width)]
    return "\n".join([*wrap(head, width, hanging=""), "", *lines])


def _entry(title: str, text: str, width: int) -> list[str]:
    lines = wrap(text, width, " " * 16, "")
    return [f"  {title:<13} {lines[0].strip()}", *lines[1:]] if lines else []


def range_in_words(bounds: tuple[float, float]) -> str:
    """Return the range of possible values in words.

    Examples
    --------
    >>> range_in_words((0, 1)), range_in_words((1, float("inf")))
    ('0 to 1', '1 and up')
    """
    low, high = bounds
    return f"{low:.4g} and up" if high == float("inf") else f"{low:.4g} to {high:.4g}"


def changes_in_words(names: Collection[str]) -> str:
    """Return the changes to which a number is invariant in words, in a fixed order.

    Examples
    --------
    >>> changes_in_words({"scaling", "orthogonal"}), changes_in_words(())
    ('rotations and reflections, scaling all features equally', 'nothing')
    """
    return ", ".join(words for name, words in CHANGES.items() if name in names) or "nothing"


def options_in_words(options: Mapping[str, Any]) -> str:
    """Return the options and their defaults as text; an option without a default is required.

    Examples
    --------
    >>> options_in_words({"metric": "cosine", "ids": Parameter.empty})
    "metric='cosine', ids"
    """
    return ", ".join(name if value is Parameter.empty else f"{name}={value!r}" for name, value in options.items())
