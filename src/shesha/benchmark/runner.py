"""Running a suite: train what is missing, compare what is missing, write every number the moment it is there."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from dataclasses import dataclass, field
from typing import Any

from shesha.benchmark import work
from shesha.benchmark.archive import Archive, model_of
from shesha.benchmark.differences import complete_differences
from shesha.benchmark.entries import no_reason, version_of
from shesha.benchmark.executors import Executor
from shesha.benchmark.meter import Meter
from shesha.benchmark.models import Model
from shesha.benchmark.plan import Keys, Trial, chunks_of, models_of
from shesha.benchmark.store import Cell, Store, Trained
from shesha.benchmark.work import Chunk
from shesha.measures import Measure

_ATTEMPTS = 3
"""A piece of work whose worker died this many times is given up."""


@dataclass(eq=False)
class Job:
    """A piece of work: training of a model, or a chunk of comparisons."""

    kind: Any
    amount: float
    call: Callable[..., Any]
    arguments: tuple[Any, ...]
    model: Model | None = None
    attempts: int = 0


@dataclass
class Run:
    """One run of some trials into a store."""

    store: Store
    trials: Sequence[Trial]
    measures: Sequence[Measure]
    keys: Keys
    executor: Executor
    keep_checkpoints: bool = False
    meter: Meter = field(init=False)

    def __post_init__(self) -> None:
        """Read what earlier runs have done."""
        self.meter = Meter(self.executor.n_workers)
        self._archive = Archive(self.store.models_folder)
        self._trained = {
            key: one for key, one in self.store.models().items() if one.accuracy is None or self._archive.has(key)
        }
        self._planned = self.store.done()
        self._waiting = list(self.trials)
        self._ready: deque[Job] = deque()
        self._training: deque[Job] = deque()
        self._under_way: dict[Future[Any], Job] = {}
        self._suspects: deque[Job] = deque()

    def __call__(self) -> None:
        """Work until everything is done. Ctrl-C, a full disk or a lost cluster end it; what is done stays."""
        self._plan_training()
        self._release()
        now = True
        try:
            with self.meter:
                while self._fill():
                    finished, _ = wait(self._under_way, timeout=1.0, return_when=FIRST_COMPLETED)
                    self._collect(finished)
                    self.meter.show()
            now = False
        finally:
            self.executor.close(now=now)

    def _plan_training(self) -> None:
        models = models_of(self.trials)
        self.meter.n_models = len(models)
        for model in models:
            key = self.keys[model]
            if key in self._trained:
                self.meter.models_done += 1
                continue
            kind = ("train", model.dataset, model.architecture, model.setting.kind == "deep")
            arguments = (model, key, self._archive.folder, self.keep_checkpoints)
            self._training.append(Job(kind, 1.0, work.train, arguments, model))
            self.meter.expect(kind, 1.0)

    def _release(self) -> None:
        """Plan the comparisons of the trials whose models are all there."""
        still = []
        for trial in self._waiting:
            models = trial.models
            if any(self.keys[model] not in self._trained for model in models):
                still.append(trial)
                continue
            failed = {self.keys[model] for model in models if self._trained[self.keys[model]].accuracy is None}
            self._compare_outputs(trial, failed)
            n_layers = self._n_layers(trial, failed)
            for chunk in chunks_of(trial, self.measures, self.keys, n_layers, self._planned):
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
            chunk = self._without(chunk, failed)
        if chunk.n_cells:
            kind = ("compare", chunk.measures[0].view_key, tuple(one.name for one in chunk.measures))
            self._ready.append(Job(kind, chunk.n_cells, work.compare, (chunk, self._archive.folder)))
            self.meter.expect(kind, chunk.n_cells)

    def _without(self, chunk: Chunk, failed: set[str]) -> Chunk:
        """Write the cells of models that could not be trained as failed, and return the rest."""
        lost, kept = [], []
        for measure, pairs in zip(chunk.measures, chunk.pairs, strict=True):
            gone = [pair for pair in pairs if {model_of(name) for name in pair} & failed]
            version = version_of(measure)
            for pair in gone:
                key = next(model_of(name) for name in pair if model_of(name) in failed)
                reason = f"no model: {self._trained[key].reason}"
                lost.append(Cell(*pair, measure.name, version, None, 0.0, reason))
            kept.append(tuple(pair for pair in pairs if pair not in set(gone)))
        self.store.add_cells(lost)
        self.meter.cells_done += len(lost)
        return Chunk(chunk.measures, tuple(kept))

    def _fill(self) -> bool:
        """Give the workers enough to do; False when nothing is left."""
        if self._suspects:
            # Whichever of them kills its worker shows when it is alone.
            if not self._under_way:
                self._submit(self._suspects.popleft())
            return True
        while len(self._under_way) < 2 * self.executor.n_workers and (self._ready or self._training):
            self._submit(self._ready.popleft() if self._ready else self._training.popleft())
        return bool(self._under_way)

    def _submit(self, job: Job) -> None:
        try:
            future = self.executor.submit(job.call, *job.arguments)
        except BrokenExecutor:
            self.executor.renew()
            future = self.executor.submit(job.call, *job.arguments)
        self._under_way[future] = job

    def _collect(self, finished: Collection[Future[Any]]) -> None:
        """Write what is done. When workers died all their work ends at once, and what was under way is lost."""
        jobs = [(self._under_way.pop(future), future) for future in finished]
        dead = [job for job, future in jobs if isinstance(future.exception(), BrokenExecutor)]
        for job, future in jobs:
            if job not in dead:
                self._finish(job, future)
        if dead:
            self._survive([*dead, *self._under_way.values()])

    def _finish(self, job: Job, future: Future[Any]) -> None:
        try:
            found = future.result()
        except Exception as error:  # Work reports its own failures; this is the worker's.
            if work.disk_is_full(error):
                raise
            job.attempts += 1
            if _lost(error) and job.attempts < _ATTEMPTS:
                self._suspects.append(job)
                return
            found = self._given_up(job, no_reason(error))
        self._write(job, found)

    def _survive(self, jobs: Sequence[Job]) -> None:
        """Start new workers; what was under way is tried again, one at a time."""
        self._under_way.clear()
        self.executor.renew()
        for job in jobs:
            job.attempts += 1
            if job.attempts < _ATTEMPTS:
                self._suspects.append(job)
            else:
                self._write(job, self._given_up(job, f"the worker died {_ATTEMPTS} times (out of memory?)"))

    def _given_up(self, job: Job, reason: str) -> Any:
        if job.model is not None:
            return Trained(self.keys[job.model], None, 0.0, reason)
        chunk: Chunk = job.arguments[0]
        return [
            Cell(*pair, measure.name, version_of(measure), None, 0.0, reason)
            for measure, pairs in zip(chunk.measures, chunk.pairs, strict=True)
            for pair in pairs
        ]

    def _write(self, job: Job, found: Any) -> None:
        if job.model is not None:
            self.store.add_model(job.model, found)
            self._trained[found.key] = found
            self.meter.models_done += 1
            self.meter.finish(job.kind, job.amount, found.seconds)
            self._release()
        else:
            self.store.add_cells(found)
            self.meter.cells_done += len(found)
            self.meter.finish(job.kind, job.amount, sum(cell.seconds for cell in found))


def _lost(error: Exception) -> bool:
    """Whether a cluster lost the work, rather than the work failing."""
    return any(word in type(error).__name__ for word in ("Killed", "Cancelled", "Lost"))
