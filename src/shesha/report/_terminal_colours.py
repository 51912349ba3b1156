"""Colours in reports, for terminals that show them."""

from __future__ import annotations

import os
import re
import sys

_BOLD, _CARE, _GOOD, _QUIET, _PLAIN = (f"\x1b[{code}m" for code in (1, 33, 32, 2, 0))
_BEYOND = re.compile(r"\b(not above chance|above chance)\b", re.IGNORECASE)
_LONGEST = 60
"""Maximum length of a title."""


def use_colour() -> bool:
    """Return whether to use colours: NO_COLOR and FORCE_COLOR decide; otherwise, only on a terminal."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def colour_report(text: str) -> str:
    """Return a report with titles in bold, scores above chance in green, and warnings in yellow.

    Examples
    --------
    >>> colour_report("Data\\n  ! zero rows: 2")
    '\\x1b[1mData\\x1b[0m\\n  \\x1b[33m! zero rows: 2\\x1b[0m'
    """
    lines = text.split("\n")
    before = ["", *lines]
    return "\n".join(_line(line, not above.strip()) for line, above in zip(lines, before, strict=False))


def _line(line: str, first: bool) -> str:
    bare = line.strip()
    start = line[: len(line) - len(line.lstrip())]
    if first and bare and not start and len(bare) <= _LONGEST and not bare.endswith("."):
        return f"{_BOLD}{line}{_PLAIN}"
    if re.match(r"(.{0,40}: )?! ", bare):
        return f"{start}{_CARE}{bare}{_PLAIN}"
    if bare.startswith("note: "):
        return f"{start}{_QUIET}{bare}{_PLAIN}"
    return _BEYOND.sub(lambda match: f"{_CARE if 'ot ' in match[0] else _GOOD}{match[0]}{_PLAIN}", line)
