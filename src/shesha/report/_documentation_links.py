"""Links to the documentation."""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError, metadata

from shesha._version import DISTRIBUTION


@cache
def documentation() -> str:
    """Return the base address of the documentation; empty if the package metadata contain none."""
    try:
        named = metadata(DISTRIBUTION).get_all("Project-URL") or []
    except PackageNotFoundError:
        return ""
    urls = [entry.partition(",")[2].strip() for entry in named if entry.startswith("Documentation,")]
    return urls[0].rsplit("/", 1)[0] + "/" if urls else ""


def address(page: str) -> str:
    """Return the full address of a documentation page; empty if the base address is unknown."""
    home = documentation()
    return home + page if home and page else ""


def heading_anchor(title: str) -> str:
    """Return the anchor that a Markdown heading gets."""
    return "".join(c for c in title.lower().replace(" ", "-") if c.isalnum() or c in "-_")
