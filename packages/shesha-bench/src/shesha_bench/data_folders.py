"""Find data and pretrained weights, first in a local folder and then at their usual source."""

from __future__ import annotations

import os
from pathlib import Path


class MissingDataError(FileNotFoundError):
    """Raised if data or weights are neither in the local folder nor at their source; both are named."""


def local_folder(name: str) -> Path | None:
    """Return the folder of a data set below SHESHA_DATA, or None if there is none."""
    root = os.environ.get("SHESHA_DATA")
    folder = Path(root) / name if root else None
    return folder if folder is not None and folder.is_dir() else None


def cache_folder() -> Path:
    """Return the folder for downloads: SHESHA_CACHE, or a folder in the user's cache."""
    from platformdirs import user_cache_path

    root = os.environ.get("SHESHA_CACHE")
    return Path(root) if root else user_cache_path("shesha", appauthor=False)


def missing_data_error(what: str, folder: str, source: str, reason: object = "") -> MissingDataError:
    """Return an error that names what is missing, where to put it, and where to get it."""
    root = os.environ.get("SHESHA_DATA")
    place = f"{Path(root) / folder}" if root else f"$SHESHA_DATA/{folder} (SHESHA_DATA is not set)"
    why = f" ({reason})" if str(reason) else ""
    return MissingDataError(
        f"{what} is neither in {place} nor available from {source}{why}; download it, or copy it to that folder"
    )
