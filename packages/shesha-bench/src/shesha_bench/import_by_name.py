"""Import your own measures, tests, suites, data sets and networks, which are named as module:name."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any


def is_place(text: str) -> bool:
    """Return whether a name has the form module:name."""
    return isinstance(text, str) and ":" in text.split("(")[0]


def import_by_name(place: str, what: str) -> Any:
    """Import the object named as 'module:name'; modules in the current folder are found as well."""
    module, _, name = place.partition(":")
    if not module or not name:
        raise ValueError(f"{what} must be importable as module:name, got {place!r}")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"{what} must be importable as module:name, got {place!r}: {error}") from error
