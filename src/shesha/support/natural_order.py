"""A sort key under which numbers in texts are sorted by value: 'layer 2' before 'layer 10'."""

from __future__ import annotations

import re

_NUMBER = re.compile(r"(\d+)")


def natural_key(text: str) -> tuple[tuple[str, int], ...]:
    """Return a sort key that compares digits by value and all other text as it is.

    Examples
    --------
    >>> sorted(["10", "9", "b2", "b10", "1"], key=natural_key)
    ['1', '9', '10', 'b2', 'b10']
    """
    parts = _NUMBER.split(text)
    return tuple(zip(parts[::2], [*map(int, parts[1::2]), -1], strict=True))
