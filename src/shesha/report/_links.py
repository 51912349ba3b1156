"""Links to the documentation."""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError, metadata

from shesha._version import DISTRIBUTION


@cache
def documentation() -> str:
    """Return the address that the documentation's pages begin with; empty where the distribution names none."""
    try:
        named = metadata(DISTRIBUTION).get_all("Project-URL") or []
    except PackageNotFoundError:
        return ""
    found = [one.partition(",")[2].strip() for one in named if one.startswith("Documentation,")]
    return found[0].rsplit("/", 1)[0] + "/" if found else ""


def address(page: str) -> str:
    """Return where a page of the documentation is; empty where nobody knows."""
    home = documentation()
    return home + page if home and page else ""
