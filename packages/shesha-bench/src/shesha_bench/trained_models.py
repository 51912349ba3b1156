"""Store trained models on disk under a key of their content: weights (temporarily) and outcomes."""

from __future__ import annotations

import errno
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
from numpy.typing import NDArray

from shesha.kernels.map_flattening import as_maps, from_channels_last
from shesha.support import atomic_files
from shesha_bench.model_descriptions import Weights
from shesha_bench.model_outcomes import Outcome

LAST = "last"
"""Stands for the number of the last hidden layer in a reference."""


def reference(key: str, pooling: str, layer: int | str = LAST) -> str:
    """Return the reference to one layer of a model, under which its comparisons are stored."""
    return f"{key}/{pooling}/{layer}"


def model_key(name: str) -> str:
    """Return the key of the model to which a reference belongs."""
    return name.split("/", 1)[0]


@dataclass(frozen=True)
class Archive:
    """The folder that contains the trained models."""

    folder: Path

    def sweep(self) -> None:
        """Remove incomplete files left by ended processes. Only the run that may write here calls this."""
        atomic_files.sweep(self.folder)

    def weights_path(self, key: str) -> Path:
        """Return the path of a model's weights."""
        return self.folder / f"{key}.pt"

    def outcome_path(self, key: str) -> Path:
        """Return the path of a model's representations and outputs."""
        return self.folder / f"{key}.npz"

    def save_weights(self, key: str, weights: Weights) -> None:
        """Write a model's weights."""
        import torch

        try:
            _write(self.weights_path(key), lambda file: torch.save(weights, file))
        except RuntimeError as error:
            # This is the error of torch if a write fails.
            if "PytorchStreamWriter failed" not in str(error):
                raise
            raise OSError(errno.ENOSPC, f"no space left in {self.folder}; finished results are kept") from error

    def load_weights(self, key: str) -> Weights | None:
        """Read a model's weights if they exist; files with anything but plain tensors are rejected."""
        import pickle

        import torch

        path = self.weights_path(key)
        if not path.exists():
            return None
        try:
            weights = torch.load(path, map_location="cpu", weights_only=True)
        except (RuntimeError, pickle.UnpicklingError, EOFError) as error:
            raise ValueError(f"checkpoint must be a file of tensors, got {path}; remove it to train again") from error
        return cast(Weights, weights)

    def save(self, key: str, outcome: Outcome, seconds: float) -> None:
        """Write a model's representations and outputs."""
        arrays: dict[str, NDArray[Any]] = {
            "probabilities": outcome.probabilities,
            "labels": outcome.labels,
            "seconds": np.float64(seconds),  # type: ignore[dict-item]
        }
        for pooling, layers in outcome.representations.items():
            arrays[f"{pooling}/{LAST}"] = layers[-1]
            arrays |= {f"{pooling}/{number}": layer for number, layer in enumerate(layers[:-1])}
            arrays[f"{pooling}/n"] = np.int64(len(layers))  # type: ignore[assignment]
        _write(self.outcome_path(key), lambda file: np.savez(file, allow_pickle=False, **arrays))

    def has(self, key: str) -> bool:
        """Return whether a model's results exist and are complete."""
        try:
            with self._open_arrays(key) as stored:
                return "probabilities" in stored
        except FileNotFoundError:
            return False
        except ValueError:
            # An incomplete file counts as missing, so that the model is trained again.
            return False

    @contextmanager
    def _open_arrays(self, key: str) -> Iterator[Any]:
        path = self.outcome_path(key)
        try:
            # Open the file here, because NumPy would leave a damaged file open.
            with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
                yield stored
        except (zipfile.BadZipFile, zlib.error, EOFError, KeyError) as error:
            raise ValueError(f"model file must be complete, got {path}: {error}; remove it to train again") from error

    def outputs(self, key: str) -> tuple[NDArray[np.float64], NDArray[np.int64], float]:
        """Return a model's probabilities, the labels, and the seconds that training took."""
        with self._open_arrays(key) as stored:
            return stored["probabilities"], stored["labels"], float(stored["seconds"])

    def n_layers(self, key: str, pooling: str) -> int:
        """Return how many layers of a model are stored."""
        with self._open_arrays(key) as stored:
            return int(stored[f"{pooling}/n"])

    def layer(self, name: str) -> NDArray[np.float32]:
        """Return the representation that a reference names: a matrix, or maps (n_rows, channels, h, w).

        If the earlier layers are feature maps and the last layer is addressed by its number, it is returned as maps
        with a single position. When it is compared with an earlier layer, that layer is then averaged over positions.
        """
        key, pooling, layer = name.split("/")
        with self._open_arrays(key) as stored:
            n_layers = int(stored[f"{pooling}/n"])
            number = LAST if layer == str(n_layers - 1) else layer
            array = stored[f"{pooling}/{number}"]
            beside_maps = layer != LAST and f"{pooling}/0" in stored and stored[f"{pooling}/0"].ndim == 4
        if array.ndim == 4:
            return from_channels_last(cast(NDArray[np.float32], array))
        return cast(NDArray[np.float32], as_maps(array) if beside_maps else array)


def _write(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Write a file so that it is either complete or missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_files.replacing(path) as draft, draft.open("wb") as file:
        write(file)
