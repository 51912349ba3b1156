"""Text that is safe to print: control characters, which could change a terminal or forge lines, become escapes.

Names of arrays, rows, labels and files come from files of other people. A terminal obeys control characters in them:
it clears its screen, changes its title, or moves the cursor over earlier lines.
"""

from __future__ import annotations

import html
import re

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
