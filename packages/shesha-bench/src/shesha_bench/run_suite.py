"""Run a suite: train missing models, compute missing comparisons, and store each result at once."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shesha import __version__, runs
from shesha.measures import Measure
from shesha.measures.registry import Choice
from shesha.runs import Executor, Job, executor, require_workers
from shesha.support import types as kinds
from shesha_bench import jobs
from shesha_bench.catalogue import Model
from shesha_bench.domains import domain
from shesha_bench.jobs import Archive, Chunk, model_key
from shesha_bench.measure_entries import entries, entry_version, make_entry
from shesha_bench.store import Cell, Entry, Store, Trained, lock_run, require_place
from shesha_bench.stored_results import (
    Depths,
    complete_differences,
    count_layers,
    find_cell,
    find_suite,
    layer_counts,
    list_trials,
    open_store,
    results,
)
from shesha_bench.suites import Keys, Suite, Trial, plan_chunks, required_models, suite, trials
from shesha_bench.tests import BenchmarkTest, find

if TYPE_CHECKING:
    import pandas as pd


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
            self._training.append(Job(key, kind, 1.0, jobs.train, arguments))
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
                    jobs.compare,
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
        if job.call is jobs.train:
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
        if job.call is jobs.train:
            self.keep_result(job, Trained(job.key, None, 0.0, reason))
            return
        chunk: Chunk = job.arguments[0]
        cells = [
            Cell(*pair, measure.name, entry_version(measure), None, 0.0, reason)
            for measure, pairs in zip(chunk.measures, chunk.pairs, strict=True)
            for pair in pairs
        ]
        self.keep_result(job, cells)


_COLUMNS = (
    *("dataset", "architecture", "pooling", "test"),
    *("models", "trained", "models failed", "comparisons", "compared", "without value"),
)


def status(store: str | Path | Store, of: Suite | None = None) -> pd.DataFrame:
    """Return how many models and comparisons of each test are planned, done and failed.

    Parameters
    ----------
    store : path or Store
        The store of a run.
    of : Suite, optional
        The suite of the run, which is needed only if it is your own.

    Returns
    -------
    DataFrame
        Columns dataset, architecture, pooling and test; models, trained and models failed; comparisons, compared and
        without value. For the layer test, the number of comparisons is NA until a model has been trained, because only
        then is the number of layers known.
    """
    import pandas as pd

    with open_store(store) as db:
        chosen, keys = list_trials(db, find_suite(db, of))
        models = db.models()
        entries = [(entry, db.cells(entry.name, entry.version)) for entry in db.entries()]
        depths, archive = layer_counts(db), Archive(db.models_folder)
    rows = [
        _models_so_far(trial, keys, models)
        | _comparisons_so_far(trial, entries, keys, _layer_count(trial, keys, models, depths, archive))
        for trial in chosen
    ]
    return pd.DataFrame(rows, columns=_COLUMNS).astype({"comparisons": "Int64"})


def _models_so_far(trial: Trial, keys: Keys, models: Mapping[str, Trained]) -> dict[str, Any]:
    model_keys = {keys[model] for model in trial.models}
    there = [models[key] for key in model_keys if key in models]
    return {
        "dataset": trial.task.dataset,
        "architecture": trial.task.architecture,
        "pooling": trial.pooling,
        "test": trial.test,
        "models": len(model_keys),
        "trained": sum(result.accuracy is not None for result in there),
        "models failed": sum(result.accuracy is None for result in there),
    }


def _comparisons_so_far(
    trial: Trial,
    entries: list[tuple[Entry, dict[tuple[str, str], Cell]]],
    keys: Keys,
    n_layers: int | None,
) -> dict[str, Any]:
    cells = [
        find_cell(some, *pair, entry)
        for entry, some in entries
        for pair in trial.pairs(entry.symmetric, keys, n_layers or 0)
    ]
    return {
        "comparisons": None if n_layers is None else len(cells),
        "compared": sum(cell is not None for cell in cells),
        "without value": sum(cell is not None and cell.value is None for cell in cells),
    }


def _layer_count(
    trial: Trial,
    keys: Keys,
    models: Mapping[str, Trained],
    depths: Depths,
    archive: Archive,
) -> int | None:
    """Return how many layers the trial compares, or None until one of its models is trained."""
    if not trial.of.layered:
        return 0
    n_layers = count_layers(trial, keys, depths)
    if n_layers:
        return n_layers
    known = [models[keys[model]] for model in trial.models if keys[model] in models]
    for result in known:
        if result.accuracy is not None:
            try:
                return archive.n_layers(result.key, trial.pooling)
            except (FileNotFoundError, ValueError):
                # The file was removed or damaged, so the next run trains the model again.
                continue
    return 0 if len(known) == len(trial.models) else None


def failures(store: Store) -> str:
    """List the reasons for missing values, one line per network and reason; '' if none are missing."""
    counts: dict[tuple[str, str, str], int] = {}
    for place, cell in _cells(store, lambda cell: cell.value is None):
        line = (place, general(cell.reason), cell.measure)
        counts[line] = counts.get(line, 0) + 1
    lines = []
    for place, reason in dict.fromkeys(line[:2] for line in sorted(counts)):
        measures = ", ".join(f"{m} ({n})" for (p, r, m), n in sorted(counts.items()) if (p, r) == (place, reason))
        lines.append(f"- {place}: {reason}: {measures}")
    return "\n".join(lines)


def describe_missing_rows(store: Store) -> str:
    """Describe, one line per network, how many comparisons leave out rows without a direction."""
    left_out: dict[tuple[str, str], list[int]] = {}
    for place, cell in _cells(store, lambda cell: cell.value is not None and cell.rows_left_out > 0):
        left_out.setdefault((place, cell.measure), []).append(cell.rows_left_out)
    lines = []
    for place in dict.fromkeys(place for place, _ in sorted(left_out)):
        measures = ", ".join(
            f"{measure} ({len(rows)}, up to {max(rows)} rows)"
            for (where, measure), rows in sorted(left_out.items())
            if where == place
        )
        lines.append(f"- {place}: {measures}")
    return "\n".join(lines)


def _cells(store: Store, chosen: Callable[[Cell], bool]) -> Iterator[tuple[str, Cell]]:
    """Yield the selected comparisons of planned models by current measures, each with its network's name."""
    places = {key: f"{place[2]} on {place[1]}" for place, key in store.keys().items()}
    for entry in store.entries():
        for cell in store.cells(entry.name, entry.version).values():
            place = places.get(model_key(cell.first))
            if place is not None and chosen(cell):
                yield place, cell


def general(reason: str) -> str:
    """Strip model names and row numbers from a reason, so that equal failures have equal reasons."""
    reason = re.sub(r"^[0-9a-f]{20}/[^:]*: ", "", reason)
    reason = re.sub(r": \d+ of \d+$", "", reason)
    return re.sub(r"(rows|columns|features:?) \d.*", r"\1", reason).rstrip(": ")


def run(
    of: str | Suite = "small",
    *,
    domains: str | Iterable[str] = (),
    datasets: str | Iterable[str] = (),
    architectures: str | Iterable[str] = (),
    tests: str | BenchmarkTest | Iterable[str | BenchmarkTest] = (),
    measures: Choice | Iterable[Choice] = ("all",),
    store: str | Path = "resi.sqlite",
    workers: int | None = None,
    scheduler: str | None = None,
    keep_checkpoints: bool = False,
    retry_failed: bool = False,
    wait: bool = True,
) -> pd.DataFrame:
    """Train the models of a suite, compare them by the given measures, and return the scores.

    Every number is stored as soon as it is computed. To resume after an interruption, repeat the call with the same
    store.

    Parameters
    ----------
    of : str or Suite
        'small' (for a laptop), 'paper' (as published), or your own suite, as an object or as 'module:name'.
    domains, datasets, architectures, tests : str or iterables of str
        Names of what to include; by default, everything. The tests are accuracy, output, label_randomization, shortcut,
        augmentation and layer_monotonicity. Your own test can be given as an object or as 'module:test'.
    measures : str, measure or iterable of them
        Names of measures, families or groups (such as 'ReSi'), calibrated variants (such as 'calibrated CKA'), or your
        own function as 'module:function'. 'all' includes every registered measure and the calibrated variants.
    store : path
        File for the results. Trained models are stored in a folder next to it.
    workers : int, optional
        Number of local processes; default: one per core.
    scheduler : str, optional
        Address of a running Dask scheduler to use instead of local processes. Its workers must be able to access the
        folder that contains the store.
    keep_checkpoints : bool
        Whether to keep each model's weights once its representations have been extracted.
    retry_failed : bool
        Whether to retry models and comparisons that failed in an earlier run.
    wait : bool
        Whether to wait if another run is writing to the same store. If False, StoreError is raised instead.

    Returns
    -------
    DataFrame
        The scores, as returned by `results`.

    Raises
    ------
    MissingDataError
        If data or weights are neither in SHESHA_DATA nor available from their source; the message names both.
    StoreError
        If the file is not a store or has the layout of another version. If `wait` is False, also if another run is
        writing to it.
    ValueError
        If the suite does not contain a name, nothing matches the selection, or the store belongs to another suite.
    """
    chosen = suite(of) if isinstance(of, str) else of
    tasks = chosen.choose_tasks(_as_tuple(domains), _as_tuple(datasets), _as_tuple(architectures))
    if not tasks:
        raise ValueError("domains, datasets and architectures must match at least one network of the suite, got none")
    some = trials(tasks, tuple(find(test).name for test in _as_tuple(tests)))
    if not some:
        raise ValueError("tests must include one that applies to the chosen networks and data, got none")
    taking_part = entries(_as_tuple(measures), chosen.options)
    models = required_models(some)
    path = kinds.path(store, "store")
    require_place(path)
    workers = require_workers(workers, scheduler)
    # For a new store, read the data first so that missing data leave no file; an existing store is checked first.
    keys = None if path.exists() else _keys(models)
    with lock_run(path, wait=wait), Store(path) as opened:
        _require_same_suite(opened, chosen)
        keys = _keys(models) if keys is None else keys
        opened.describe(suite=chosen.name, shesha=__version__)
        opened.plan({key: model for model, key in keys.items()})
        opened.add_entries(map(make_entry, taking_part))
        if retry_failed:
            opened.forget_failures()
        Archive(opened.models_folder).sweep()
        Run(opened, some, taking_part, keys, _executor(workers, scheduler), keep_checkpoints)()
        return results(opened, chosen)


def _as_tuple(some: Any) -> tuple[Any, ...]:
    """Return a single value or several values as a tuple."""
    return (some,) if isinstance(some, str | Measure | BenchmarkTest) or callable(some) else tuple(some)


def _require_same_suite(store: Store, chosen: Suite) -> None:
    before = store.about().get("suite")
    if before not in (None, chosen.name):
        raise ValueError(f"store must belong to suite {chosen.name!r}, got {store.path} of suite {before!r}")


def _keys(models: Sequence[Model]) -> dict[Model, str]:
    """Map each model to the key of its content; missing data raise an error before anything is trained."""
    prints: dict[tuple[Any, ...], str] = {}
    keys = {}
    for model in models:
        place = (model.domain, model.dataset, model.architecture)
        if place not in prints:
            prints[place] = domain(model.domain).fingerprint(model.dataset, model.hyper)
        keys[model] = model.key(prints[place])
    return keys


def _executor(workers: int | None, scheduler: str | None) -> Executor:
    return executor(workers, scheduler)
