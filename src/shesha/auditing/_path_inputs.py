"""Whether files are given, told without importing what reads them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any


def is_path(given: Any) -> bool:
    """Whether something is a path."""
    return isinstance(given, str | os.PathLike)


def holds_paths(representations: Any) -> bool:
    """Whether a path, several, or files already described are given, or a mapping has paths among its values."""
    if is_path(representations) or hasattr(representations, "as_it_is"):
        return True
    if isinstance(representations, Mapping):
        return any(map(is_path, representations.values()))
    listed = isinstance(representations, list | tuple) and bool(representations)
    return listed and all(map(is_path, representations))
