"""Run a suite: train missing models, compute missing comparisons, and store each result at once."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from shesha import runs
from shesha.measures import Measure
from shesha.runs import Executor, Job
from shesha_bench import train_and_compare_jobs
from shesha_bench.measure_entries import entry_version
from shesha_bench.model_descriptions import Model
from shesha_bench.output_difference_store import complete_differences
from shesha_bench.run_plan import Keys, Trial, plan_chunks, required_models
from shesha_bench.store import Cell, Store, Trained
from shesha_bench.train_and_compare_jobs import Chunk
from shesha_bench.trained_models import Archive, model_key


class Meter(runs.Meter):
    """Counts the models and comparisons of a run, in total and done so far."""

    def __init__(self, n_workers: int) -> None:
        super().__init__(n_workers)
        self.n_models = self.n_cells = self.models_done = self.cells_done = 0

    def describe(self) -> str:
        """Describe in words how many models and comparisons are done."""
        some = f"{self.cells_done}/{self.n_cells}{'+' if self.more_to_plan else ''} comparisons"
        return f"{self.models_done}/{self.n_models} models, {some}"


@dataclass
class Run:
    """One run of the chosen trials, whose results go into a store."""

    store: Store
    trials: Sequence[Trial]
    measures: Sequence[Measure]
    keys: Keys
    executor: Executor
    keep_checkpoints: bool = False
    meter: Meter = field(init=False)

    def __post_init__(self) -> None:
        """Read from the store what earlier runs have done."""
        self.meter = Meter(self.executor.n_workers)
        self._archive = Archive(self.store.models_folder)
        self._trained = {
            key: model for key, model in self.store.models().items() if model.accuracy is None or self._archive.has(key)
        }
        self._planned = self.store.stored_comparisons()
        self._waiting = list(self.trials)
        self._ready: deque[Job] = deque()
        self._training: deque[Job] = deque()
        self._models: dict[str, Model] = {}
        self._number = count(1)

    def __call__(self) -> None:
        """Work until all is done. Ctrl-C, a full disk or a lost cluster leaves finished results in the store."""
        self._plan_training()
        self._release()
        runs.run(self, self.executor, self.meter)

    def _plan_training(self) -> None:
        models = required_models(self.trials)
        self.meter.n_models = len(models)
        for model in models:
            key = self.keys[model]
            if key in self._trained:
                self.meter.models_done += 1
                continue
            kind = ("train", model.dataset, model.architecture, model.setting.kind == "deep")
            arguments = (model, key, self._archive.folder, self.keep_checkpoints)
            self._training.append(Job(key, kind, 1.0, train_and_compare_jobs.train, arguments))
            self._models[key] = model
            self.meter.expect(kind, 1.0)

    def _release(self) -> None:
        """Plan the comparisons of each trial for which every model has been trained or has failed."""
        still = []
        for trial in self._waiting:
            models = trial.models
            if any(self.keys[model] not in self._trained for model in models):
                still.append(trial)
                continue
            failed = {self.keys[model] for model in models if self._trained[self.keys[model]].accuracy is None}
            self._compare_outputs(trial, failed)
            n_layers = self._n_layers(trial, failed)
            for chunk in plan_chunks(trial, self.measures, self.keys, n_layers, self._planned):
                self._add(chunk, failed)
        self._waiting = still
        self.meter.more_to_plan = bool(still)

    def _n_layers(self, trial: Trial, failed: Collection[str]) -> int:
        there = [self.keys[model] for model in trial.models if self.keys[model] not in failed]
        return self._archive.n_layers(there[0], trial.pooling) if there else 0

    def _compare_outputs(self, trial: Trial, failed: Collection[str]) -> None:
        there = [self.keys[model] for model in trial.models if self.keys[model] not in failed]
        complete_differences(self.store, self._archive, there, trial.of.differences)

    def _add(self, chunk: Chunk, failed: set[str]) -> None:
        self.meter.n_cells += chunk.n_cells
        if failed & chunk.models:
            chunk = self._drop_failed(chunk, failed)
        if chunk.n_cells:
            kind = ("compare", chunk.measures[0].view_key, tuple(measure.name for measure in chunk.measures))
            self._ready.append(
                Job(
                    f"comparisons {next(self._number)}",
                    kind,
                    chunk.n_cells,
                    train_and_compare_jobs.compare,
                    (chunk, self._archive.folder),
                )
            )
            self.meter.expect(kind, chunk.n_cells)

    def _drop_failed(self, chunk: Chunk, failed: set[str]) -> Chunk:
        """Record comparisons of failed models as failed, and return a chunk with the other comparisons."""
        lost, kept = [], []
        for measure, pairs in zip(chunk.measures, chunk.pairs, strict=True):
            gone = [pair for pair in pairs if {model_key(name) for name in pair} & failed]
            version = entry_version(measure)
            for pair in gone:
                key = next(model_key(name) for name in pair if model_key(name) in failed)
                reason = f"no model: {self._trained[key].reason}"
                lost.append(Cell(*pair, measure.name, version, None, 0.0, reason))
            kept.append(tuple(pair for pair in pairs if pair not in set(gone)))
        self.store.add_cells(lost)
        self.meter.cells_done += len(lost)
        return Chunk(chunk.measures, tuple(kept))

    def ready(self) -> Job | None:
        """Return the next job, or None if there is none; comparisons come before training."""
        waiting = self._ready or self._training
        return waiting.popleft() if waiting else None

    def keep_result(self, job: Job, result: Any) -> float:
        """Store the result of a job, and return how many seconds the job took."""
        if job.call is train_and_compare_jobs.train:
            self.store.add_model(self._models[job.key], result)
            self._trained[result.key] = result
            self.meter.models_done += 1
            self._release()
            return float(result.seconds)
        self.store.add_cells(result)
        self.meter.cells_done += len(result)
        return float(sum(cell.seconds for cell in result))

    def record_failure(self, job: Job, reason: str) -> None:
        """Store why a job failed, as the reason for the missing model or comparisons."""
        if job.call is train_and_compare_jobs.train:
            self.keep_result(job, Trained(job.key, None, 0.0, reason))
            return
        chunk: Chunk = job.arguments[0]
        cells = [
            Cell(*pair, measure.name, entry_version(measure), None, 0.0, reason)
            for measure, pairs in zip(chunk.measures, chunk.pairs, strict=True)
            for pair in pairs
        ]
        self.keep_result(job, cells)
