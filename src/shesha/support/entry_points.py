"""Loading of modules and objects that other packages offer through entry points."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from shesha.support.warnings import MeasureWarning, warn

MARKS = "shesha.marks"
"""Group of entry points for modules that register measures, stability scores, descriptors and readers when imported."""


@cache
def load_marks() -> None:
    """Import the modules that other packages offer in this group; this happens only once."""
    for _ in import_entry_points(MARKS, "module"):
        pass


def import_entry_points(group: str, what: str) -> Iterator[tuple[str, Any]]:
    """Yield each object of a group with its name; warn about objects that cannot be imported."""
    from importlib.metadata import entry_points

    for point in entry_points(group=group):
        try:
            value = point.load()
        except Exception as error:  # An error in another package must not break this library.
            warn(
                f"{what} {point.name} of {point.value} could not be loaded and is left out ({error!r}). Repair or "
                "uninstall the package that provides it",
                MeasureWarning,
            )
        else:
            yield point.name, value
