"""Test whether an input is files, without importing readers."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any


def is_path(value: Any) -> bool:
    """Whether something is a path."""
    return isinstance(value, str | os.PathLike)


def holds_paths(representations: Any) -> bool:
    """Whether the input is a path, several paths, described files, or a mapping with paths among its values."""
    if is_path(representations) or hasattr(representations, "as_it_is"):
        return True
    if isinstance(representations, Mapping):
        return any(map(is_path, representations.values()))
    listed = isinstance(representations, list | tuple) and bool(representations)
    return listed and all(map(is_path, representations))
