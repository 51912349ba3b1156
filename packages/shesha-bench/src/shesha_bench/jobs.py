"""The work of a run: train models, compare their representations, and keep both as files."""

from __future__ import annotations

import errno
import time
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
from numpy.typing import NDArray

from shesha.comparison import engine
from shesha.comparison.engine import Pair
from shesha.kernels.map_flattening import as_maps, from_channels_last
from shesha.measures import Measure
from shesha.runs import disk_is_full, failure_reason
from shesha.support import files
from shesha.support.optional import load_tensors
from shesha.support.warnings import MeasureWarning
from shesha.views import Representation
from shesha_bench.catalogue import DivergedError, Model, Outcome, Weights
from shesha_bench.domains import domain
from shesha_bench.measure_entries import Compared, compare_directed, entry_version
from shesha_bench.scores import accuracy_difference, disagreement, jensen_shannon
from shesha_bench.store import Cell, Difference, Trained

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
        files.sweep(self.folder)

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

        path = self.weights_path(key)
        if not path.exists():
            return None
        try:
            weights = load_tensors(path)
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
    with files.replacing(path) as draft, draft.open("wb") as file:
        write(file)


@dataclass(frozen=True)
class Chunk:
    """Work for one worker: measures that share a view, and the pairs that each of them compares."""

    measures: tuple[Measure, ...]
    pairs: tuple[tuple[Pair, ...], ...]

    @property
    def n_cells(self) -> int:
        """Number of comparisons in the chunk."""
        return sum(map(len, self.pairs))

    @property
    def models(self) -> frozenset[str]:
        """Keys of the models that must have been trained before."""
        return frozenset(model_key(name) for pairs in self.pairs for pair in pairs for name in pair)


def train(model: Model, key: str, folder: Path, keep_checkpoint: bool = False) -> Trained:
    """Train a model and store its outputs, unless an earlier run has done so.

    If the training fails, the result contains the reason. Only a full disk raises an error, because the run cannot
    continue then.
    """
    archive = Archive(folder)
    start = time.perf_counter()
    try:
        if not archive.has(key):
            _train(model, key, archive, keep_checkpoint)
        probabilities, labels, seconds = archive.outputs(key)
        return Trained(key, float((probabilities.argmax(axis=1) == labels).mean()), seconds)
    except Exception as error:  # One model's failure must not stop the others.
        if disk_is_full(error):
            raise
        return Trained(key, None, time.perf_counter() - start, failure_reason(error))


def _train(model: Model, key: str, archive: Archive, keep_checkpoint: bool) -> None:
    start = time.perf_counter()
    place = domain(model.domain)
    checkpoint = archive.weights_path(key)
    weights = archive.load_weights(key)
    resumed = weights is not None
    if weights is None:
        weights = place.fit(model)
        archive.save_weights(key, weights)
    try:
        outcome = place.extract(model, weights)
    except ValueError as error:
        if resumed:
            raise ValueError(f"{error} (checkpoint {checkpoint}: remove it to train again)") from error
        if isinstance(error, DivergedError) and not keep_checkpoint:
            # Weights that are not finite are useless to later runs.
            checkpoint.unlink(missing_ok=True)
        raise
    archive.save(key, outcome, time.perf_counter() - start)
    if not keep_checkpoint:
        checkpoint.unlink(missing_ok=True)


def compare(chunk: Chunk, folder: Path) -> list[Cell]:
    """Compare the pairs without rows that lack a direction; a failed comparison contains the reason."""
    archive = Archive(folder)
    names = dict.fromkeys(name for pairs in chunk.pairs for pair in pairs for name in pair)
    sources = {name: Representation.build(_layer(archive, name), name) for name in names}
    versions = {measure.name: entry_version(measure) for measure in chunk.measures}
    group = engine.Group(chunk.measures, chunk.pairs)
    with warnings.catch_warnings():
        # The cells record which comparisons are too large.
        warnings.simplefilter("ignore", MeasureWarning)
        skipped = engine.too_large([group], sources)
    return [_cell(result, versions[result.pair.name]) for result in compare_directed(group, sources, skipped)]


def _cell(result: Compared, version: str) -> Cell:
    pair = score = result.pair
    value = score.value if score.has_value else None
    return Cell(pair.first, pair.second, score.name, version, value, score.seconds, score.reason, result.rows_left_out)


@lru_cache(maxsize=64)
def _layer(archive: Archive, name: str) -> NDArray[np.float32]:
    """Read a layer, from a cache if possible, because the chunks of a trial need the same layers."""
    return archive.layer(name)


def compare_outputs(keys: Iterable[tuple[str, str]], folder: Path) -> list[Difference]:
    """Return how much the outputs of each pair of models differ."""
    archive = Archive(folder)
    outputs = {key: archive.outputs(key) for pair in keys for key in pair}
    return [
        Difference(
            first,
            second,
            accuracy_difference(outputs[first][0], outputs[second][0], outputs[first][1]),
            jensen_shannon(outputs[first][0], outputs[second][0]),
            disagreement(outputs[first][0], outputs[second][0]),
        )
        for first, second in keys
    ]
