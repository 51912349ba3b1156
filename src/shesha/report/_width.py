"""The width of a report."""

from __future__ import annotations

import shutil

NARROWEST, WIDEST = 40, 100
"""Limits of the width: narrower pages would break words, and longer lines are hard to read."""


def page_width() -> int:
    """Return the width of a report: that of the terminal within limits, or 80 without a terminal.

    Examples
    --------
    >>> NARROWEST <= page_width() <= WIDEST
    True
    """
    return min(WIDEST, max(NARROWEST, shutil.get_terminal_size((80, 24)).columns))
