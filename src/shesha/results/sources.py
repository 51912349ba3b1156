"""Sources of measures and scores by name, for sentences; registries fill them in."""

from __future__ import annotations

_sources: dict[str, str] = {}


def remember_source(name: str, reference: str) -> None:
    """Record the reference of a measure or score."""
    _sources[name] = reference


def with_source(name: str, words: str = "") -> str:
    """Return the words or the name, followed by the source in parentheses if it is known."""
    reference = _sources.get(name.partition("(")[0].strip(), "")
    shown = words or name
    return f"{shown} ({reference})" if reference else shown
