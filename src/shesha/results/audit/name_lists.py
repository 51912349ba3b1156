"""Names of some representations of an audit as a phrase: "a, b and 2 more", "both", "all 5"."""

from __future__ import annotations

from collections.abc import Sequence


def list_names(names: Sequence[str], several: int) -> str:
    """List the names of some representations; 'all' or 'both' if these are all representations.

    Examples
    --------
    >>> list_names(["a", "b", "c", "d", "e"], 9), list_names(["a", "b"], 2)
    ('a, b, c and 2 more', 'both')
    >>> list_names(["a"], 1), list_names(["a", "b"], 3)
    ('a', 'a and b')
    """
    if len(names) == several > 1:
        return "both" if several == 2 else f"all {several}"
    if len(names) > 4:
        return f"{', '.join(names[:3])} and {len(names) - 3} more"
    return " and ".join(part for part in (", ".join(names[:-1]), names[-1]) if part)
