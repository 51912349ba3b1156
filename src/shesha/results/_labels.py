"""Names that users gave, as labels of a picture."""

from __future__ import annotations


def literal(name: str) -> str:
    """Return a name as matplotlib prints it, not as a formula."""
    return name.replace("$", r"\$")
