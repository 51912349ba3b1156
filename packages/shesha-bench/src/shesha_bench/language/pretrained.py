"""Find pretrained networks in a local folder, in a package, or on the Hugging Face hub."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TypeVar

from shesha_bench.data_folders import local_folder, missing_data_error
from shesha_bench.language.catalogue import CATALOGUE

Loaded = TypeVar("Loaded")


def load_pretrained(architecture: str, seed: int, load: Callable[[str | Path], Loaded]) -> Loaded:
    """Load a pretrained network from its folder or by name, or raise MissingDataError that names both."""
    declared = CATALOGUE.network(architecture)
    if declared.pretrained is None:
        raise ValueError(f"architecture must be a pretrained network, got {architecture}")
    folder, source = declared.pretrained(seed)
    where = f"the package {declared.package}" if declared.package else f"{source} of the Hugging Face hub"
    local = local_folder(folder)
    place = local if local is not None else _package_folder(declared.package)
    if place is None and declared.package:
        raise missing_data_error(f"the pretrained network {architecture}", folder, where)
    try:
        return load(place if place is not None else source)
    except (OSError, ValueError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise missing_data_error(f"the pretrained network {architecture}", folder, where, reason) from error


def _package_folder(package: str | None) -> Path | None:
    spec = find_spec(package) if package else None
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent / "model"
    return folder if folder.is_dir() else None
