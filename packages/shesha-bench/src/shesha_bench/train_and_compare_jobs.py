"""The functions that workers call: train one model, compare pairs of models, or compare their outputs."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from shesha.comparison import engine
from shesha.comparison.engine import Pair
from shesha.measures import Measure
from shesha.runs import disk_is_full, failure_reason
from shesha.support.warnings import MeasureWarning
from shesha.views import Representation
from shesha_bench.domains import domain
from shesha_bench.measure_entries import entry_version
from shesha_bench.model_descriptions import Model
from shesha_bench.model_outcomes import DivergedError
from shesha_bench.output_differences import accuracy_difference, disagreement, jensen_shannon
from shesha_bench.store import Cell, Difference, Trained
from shesha_bench.trained_models import Archive, model_key
from shesha_bench.zero_rows import Compared, compare_directed


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
    return [_cell(result, versions[result.pair.score.measure]) for result in compare_directed(group, sources, skipped)]


def _cell(result: Compared, version: str) -> Cell:
    pair, score = result.pair, result.pair.score
    value = score.value if score.has_value else None
    return Cell(
        pair.first, pair.second, score.measure, version, value, score.seconds, score.reason, result.rows_left_out
    )


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
