"""Titles and explanations of the numbers that an audit reports."""

from __future__ import annotations

from shesha.descriptors import Descriptor, descriptors
from shesha.results import Meaning
from shesha.stability import Variant, registered_variants


def meanings() -> dict[str, Meaning]:
    """Return the title, meaning and limits of each number of an audit, in the order of the report."""
    rows = [variant for variant in registered_variants().values() if variant.audited and variant.needs == "rows"]
    labels = [variant for variant in registered_variants().values() if variant.audited and variant.needs_labels]
    parts: list[Variant | Descriptor] = [*rows, *descriptors().values(), *labels]
    return {
        part.name: Meaning(part.title, f"{part.means} {part.means_not}", part.means, part.means_not)
        for part in parts
        if part.audited
    }
