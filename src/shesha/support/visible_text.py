"""Text that is safe to print: control characters, which could change a terminal or forge lines, become escapes.

Names of arrays, rows, labels and files come from files of other people. A terminal obeys control characters in them:
it clears its screen, changes its title, or moves the cursor over earlier lines.
"""

from __future__ import annotations

import re

_CONTROLS = "\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029"
_DIRECTIONS = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
"""Characters that change the direction of writing, so that text reads differently from what it contains."""
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


def _escape(match: re.Match[str]) -> str:
    return match.group().encode("unicode_escape").decode("ascii")
