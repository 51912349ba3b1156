"""How wide a report may be."""

from __future__ import annotations

import shutil

NARROWEST, WIDEST = 40, 100
"""Narrower pages would break words; longer lines are hard to read."""


def page_width() -> int:
    """Return the columns of a report: those of the terminal within limits, 80 where there is no terminal.

    Examples
    --------
    >>> NARROWEST <= page_width() <= WIDEST
    True
    """
    return min(WIDEST, max(NARROWEST, shutil.get_terminal_size((80, 24)).columns))
