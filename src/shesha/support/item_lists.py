"""Lists in messages: the first few items, and the number of the rest."""

from __future__ import annotations

from collections.abc import Iterable

from shesha.support.visible_text import visible_name


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
