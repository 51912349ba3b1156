"""The three domains of the benchmark, the functions that a domain must provide, and where their data are."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from shesha.support.optional import require
from shesha_bench.catalogue import Model, Outcome, Plain, Weights

if TYPE_CHECKING:
    import torch


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


def hash_arrays(*arrays: NDArray[Any] | str | bytes) -> str:
    """Return a hash of arrays and texts, including the shapes and types of the arrays."""
    digest = hashlib.sha256()
    for array in arrays:
        if isinstance(array, str | bytes):
            digest.update(array.encode() if isinstance(array, str) else array)
            continue
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).view(np.uint8).data if array.size else b"")
    return digest.hexdigest()[:20]


def device() -> torch.device:
    """Return the first CUDA device, or the CPU if there is none."""
    require("torch", "torch")
    import torch

    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Domain(Protocol):
    """A domain: a module that provides these functions.

    Data sets and architectures are names of the domain's catalogue, or module:name of your own. Hyperparameters that a
    model does not specify have the values that the catalogue's `hyperparameters` returns.
    """

    def fingerprint(self, dataset: str, hyper: Mapping[str, Plain]) -> str:
        """Hash the data that training and extraction use; raise MissingDataError if they are missing."""
        ...

    def fit(self, model: Model) -> Weights:
        """Train the model from its seed, and return its state dict on the CPU.

        The same model gives bit-identical weights on the same machine with the same number of threads. Raises
        MissingDataError if data or pretrained weights are missing, ValueError if a name, a hyperparameter or their
        combination is unknown, and ArithmeticError if the training diverges.
        """
        ...

    def extract(self, model: Model, weights: Weights) -> Outcome:
        """Run the trained model on the test rows; raise ValueError if the weights are of another network.

        Representations are those of the last hidden layer, preceded by those of earlier layers if the model keeps its
        layers.
        """
        ...


PLACES = {"graph": "graphs", "language": "language", "vision": "vision"}
"""The folder of each domain, by the domain's name in the published results."""


def domain(name: str) -> Domain:
    """Return the module of a domain; a domain of your own is named by its module."""
    if name in PLACES:
        require("torch", "graphs" if name == "graph" else "torch")
    module: ModuleType = import_module(f"shesha_bench.{PLACES[name]}.training" if name in PLACES else name)
    return cast(Domain, module)
