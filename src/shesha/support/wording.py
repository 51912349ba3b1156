"""Wording of messages: plurals, lists, shortened names, and control characters made visible."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable

_CONTROLS = "\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029"
_DIRECTIONS = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
"""Characters that change the direction of writing, so that text reads differently from what it contains."""
_MARKDOWN = re.compile(r"[\\`*_\[\]{}#~]")
_FORMULA = ("=", "+", "-", "@")
_UNSAFE = re.compile(f"[{_CONTROLS}{_DIRECTIONS}]")
_UNSAFE_IN_NAMES = re.compile(f"[\\n{_CONTROLS}{_DIRECTIONS}\ud800-\udfff]")


def visible(text: str) -> str:
    """Replace control characters except line breaks and tabs by escapes.

    Examples
    --------
    >>> visible("layer\\x1b[2J"), visible("one\\ntwo")
    ('layer\\\\x1b[2J', 'one\\ntwo')
    """
    return _UNSAFE.sub(_escape, text)


def visible_name(name: str) -> str:
    """Replace control characters by escapes, line breaks among them, so that a name stays in its line.

    Examples
    --------
    >>> visible_name("x\\r\\nFAKE: everything is stable")
    'x\\\\r\\\\nFAKE: everything is stable'
    """
    return _UNSAFE_IN_NAMES.sub(_escape, name)


def visible_markdown(text: str) -> str:
    """Escape characters with a meaning in Markdown or HTML, so that a name is shown as it is and in its line.

    Examples
    --------
    >>> print(visible_markdown("<img src=x> [a](b)_c"))
    &lt;img src=x&gt; \\[a\\](b)\\_c
    """
    return _MARKDOWN.sub(r"\\\g<0>", html.escape(visible_name(text), quote=False))


def visible_cell(value: object) -> object:
    """Return a cell of a CSV file; text that a spreadsheet would run as a formula gets an apostrophe in front.

    Examples
    --------
    >>> visible_cell("=HYPERLINK(1)"), visible_cell("CKA"), visible_cell(-1.5)
    ("'=HYPERLINK(1)", 'CKA', -1.5)
    """
    if not isinstance(value, str):
        return value
    return f"'{visible_name(value)}" if value.lstrip().startswith(_FORMULA) else visible_name(value)


def _escape(match: re.Match[str]) -> str:
    return match.group().encode("unicode_escape").decode("ascii")


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


def plural(name: str) -> str:
    """Return the plural of a name that may already be one.

    Examples
    --------
    >>> plural("doc_id"), plural("paths")
    ('doc_ids', 'paths')
    """
    return name if name.endswith("s") else f"{name}s"


def duration(seconds: float) -> str:
    """Format a length of time in its largest unit.

    Examples
    --------
    >>> duration(75), duration(840), duration(9000)
    ('75 seconds', '14 minutes', '2 hours')
    """
    for unit, length in (("hour", 3600), ("minute", 60)):
        if seconds >= 2 * length:
            return count(int(seconds / length), unit)
    return count(max(1, round(seconds)), "second")


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


def join_items(items: Iterable[object], most: int = 5) -> str:
    """List the first few items, and count the rest.

    Examples
    --------
    >>> join_items(range(3)), join_items(range(9))
    ('0, 1, 2', '0, 1, 2, 3, 4 and 4 more')
    """
    entries = list(items)
    text = ", ".join(visible_name(str(item)) for item in entries[:most])
    return text if len(entries) <= most else f"{text} and {len(entries) - most} more"


def join_names(names: Iterable[str]) -> str:
    """List up to twenty names, and count the rest; 'nothing' without names."""
    return join_items(names, most=20) or "nothing"


def shorten(text: str, most: int) -> str:
    """Return a name without line breaks, cut to a number of characters.

    Examples
    --------
    >>> shorten("a\\nb", 9), shorten("embeddings " * 9, 16)
    ('a b', 'embeddings em...')
    """
    plain = " ".join(text.split())
    return plain if len(plain) <= most else f"{plain[: most - 3]}..."
