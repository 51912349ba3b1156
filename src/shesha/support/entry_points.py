"""Load modules and objects that other packages offer through entry points."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from shesha.support.warnings import MeasureWarning, warn

MARKS = "shesha.marks"
"""Group of modules that mark measures, stability scores, descriptors and readers of files when they are imported."""


@cache
def load_marks() -> None:
    """Import the modules that other packages name, once."""
    for _ in import_entry_points(MARKS, "module"):
        pass


def import_entry_points(group: str, what: str) -> Iterator[tuple[str, Any]]:
    """Yield what a group names, and its name; what cannot be imported gives a warning and does not stop the others."""
    from importlib.metadata import entry_points

    for point in entry_points(group=group):
        try:
            found = point.load()
        except Exception as error:  # Whatever another package raises must not take the library down.
            warn(f"{what} {point.name} of {point.value} could not be loaded: {error!r}", MeasureWarning)
        else:
            yield point.name, found
