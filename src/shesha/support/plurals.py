"""Singular, plural and first letters in messages: "1 row has", "2 rows have"."""

from __future__ import annotations

_HISSING = ("s", "x", "ch", "sh")


def count(n: int, thing: str) -> str:
    """Return a number followed by the thing counted, in the singular or plural.

    Examples
    --------
    >>> count(1, "row"), count(1200, "class")
    ('1 row', '1,200 classes')
    """
    ending = "" if n == 1 else "es" if thing.endswith(_HISSING) else "s"
    return f"{n:,} {thing}{ending}"


def lowercase_start(text: str) -> str:
    """Convert the first letter to lower case, to continue a sentence."""
    return text[:1].lower() + text[1:]


def agree_with_share(part: int, whole: int, singular: str, plural: str) -> str:
    """Return the verb form that fits 'part of whole', such as '1 of 3 pairs differs' and '0 of 1 pair differs'.

    Examples
    --------
    >>> [agree_with_share(part, whole, "differs", "differ") for part, whole in ((0, 1), (1, 3), (2, 3), (0, 3))]
    ['differs', 'differs', 'differ', 'differ']
    """
    return agree(1 if whole == 1 else part, singular, plural)


def agree(n: int, singular: str, plural: str) -> str:
    """Return the verb form that fits a number, such as 'has' or 'have'."""
    return singular if n == 1 else plural
