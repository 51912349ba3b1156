"""Sources of measures and scores by name, for use in sentences; registries fill them in."""

from __future__ import annotations

from functools import cache
from importlib import import_module

_sources: dict[str, str] = {}
_REGISTRIES = ("measures", "stability", "descriptors")
"""Packages that register sources. A result loaded from a file may need them before they have been imported."""


def remember_source(name: str, reference: str) -> None:
    """Record the reference for a measure or score."""
    _sources[name] = reference


def add_source(name: str, words: str = "") -> str:
    """Return the words, or else the name, followed by the source in parentheses if it is known."""
    _fill_sources()
    reference = _sources.get(name.partition("(")[0].strip(), "")
    shown = words or name
    return f"{shown} ({reference})" if reference else shown


@cache
def _fill_sources() -> None:
    for room in _REGISTRIES:
        import_module(f"shesha.{room}")
