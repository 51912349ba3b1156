"""The width of a report, and lines that fit it."""

from __future__ import annotations

import shutil
import textwrap

NARROWEST, WIDEST = 40, 100
"""Smallest and largest number of characters per line of a report."""


def page_width() -> int:
    """Return the columns of a report: those of the terminal within limits, or 80 without a terminal.

    Examples
    --------
    >>> NARROWEST <= page_width() <= WIDEST
    True
    """
    return min(WIDEST, max(NARROWEST, shutil.get_terminal_size((80, 24)).columns))


def wrap(text: str, width: int, indent: str = "", hanging: str = "  ") -> list[str]:
    """Break a text between words; a word that is longer than a line, such as a path, is not broken.

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
