"""Run a suite from Python."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shesha import __version__
from shesha.measures import Measure
from shesha.measures.registry import Choice
from shesha.runs import Executor, executor, require_workers
from shesha.support import argument_types as kinds
from shesha_bench.domains import domain
from shesha_bench.measure_entries import entries, make_entry
from shesha_bench.model_descriptions import Model
from shesha_bench.run_plan import required_models, trials
from shesha_bench.runner import Run
from shesha_bench.store import Store, lock_run, require_place
from shesha_bench.stored_results import results
from shesha_bench.suites import Suite, suite
from shesha_bench.tests import BenchmarkTest, find
from shesha_bench.trained_models import Archive

if TYPE_CHECKING:
    import pandas as pd


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
    require_workers(workers, scheduler)
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
