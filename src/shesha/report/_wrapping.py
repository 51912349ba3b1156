"""The width of a report, and line breaking to fit it."""

from __future__ import annotations

import shutil
import textwrap

NARROWEST, WIDEST = 40, 100
"""Smallest and largest number of characters per line of a report."""


def page_width() -> int:
    """Return the width of a report: that of the terminal, within limits; 80 without a terminal.

    Examples
    --------
    >>> NARROWEST <= page_width() <= WIDEST
    True
    """
    return min(WIDEST, max(NARROWEST, shutil.get_terminal_size((80, 24)).columns))


def wrap(text: str, width: int, indent: str = "", hanging: str = "  ") -> list[str]:
    """Break a text between words; a word longer than a line, such as a path, is kept whole.

    Examples
    --------
    >>> wrap("halves of the features agree", 16)
    ['halves of the', '  features agree']
    """
    return textwrap.wrap(
        text,
        width,
        initial_indent=indent,
        subsequent_indent=indent + hanging,
        break_long_words=False,
        break_on_hyphens=False,
    )
