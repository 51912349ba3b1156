"""A monitor as a directory: a JSON file that says everything, and the arrays that it names."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shesha._version import __version__
from shesha.support import atomic_files

LAYOUT = 1
ABOUT, HISTORY = "monitor.json", "history.sqlite"


def write(folder: Path, plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], *, overwrite: bool) -> str:
    """Write a monitor and return its name, the hash of its arrays.

    The arrays come first, under a name of their own; the JSON file that names them takes the old one's place last. A
    reader finds the old monitor or the new one.
    """
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(f"folder must be a directory, got the file {folder}")
    folder.mkdir(parents=True, exist_ok=True)
    if (folder / ABOUT).exists() and not overwrite:
        raise FileExistsError(f"folder must hold no monitor yet, got {folder}: pass overwrite=True for a new reference")
    content = _pack_arrays(arrays)
    name = hashlib.sha256(content).hexdigest()
    file = f"arrays-{name[:16]}.npz"
    atomic_files.write_bytes(folder / file, content)
    about = {"layout": LAYOUT, "shesha": __version__, "arrays": file, "sha256": name, **plain}
    atomic_files.write_text(folder / ABOUT, json.dumps(about, indent=2, allow_nan=False) + "\n")
    for old in folder.glob("arrays-*.npz"):
        if old.name != file:
            old.unlink(missing_ok=True)
    return name[:16]


def read(folder: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]], str]:
    """Return what `write` wrote; ValueError says what is wrong with it."""
    if not (folder / ABOUT).is_file():
        missing = "no such directory" if not folder.is_dir() else f"no {ABOUT} in it"
        raise FileNotFoundError(
            f"folder must be a directory made by save or `shesha monitor init`, got {folder}: {missing}"
        )
    try:
        about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
        layout = about["layout"]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"{folder / ABOUT} must be the description of a monitor, got something else: {error}"
        ) from error
    if layout != LAYOUT:
        raise ValueError(
            f"folder must hold a monitor of layout {LAYOUT}, got layout {layout}, written by shesha "
            f"{about.get('shesha')}: use that version, or make the monitor anew"
        )
    name = Path(str(about.get("arrays"))).name
    content = (folder / name).read_bytes() if (folder / name).is_file() else b""
    if hashlib.sha256(content).hexdigest() != about.get("sha256"):
        raise ValueError(
            f"folder must hold a whole monitor, got {folder}: {name} is missing or damaged (a copy that ended early?): "
            "copy it again, or make the monitor anew"
        )
    with np.load(io.BytesIO(content), allow_pickle=False) as found:
        return about, dict(found), about["sha256"][:16]


def _pack_arrays(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)  # type: ignore[arg-type]
    return file.getvalue()
