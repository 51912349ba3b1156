"""Scores, accuracies and runtimes of a run, computed from its store."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, astuple, fields
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shesha.runs import failure_reason, version_of_code
from shesha_bench import jobs
from shesha_bench.catalogue import Model
from shesha_bench.jobs import Archive, model_key
from shesha_bench.store import DIFFERENCE, Cell, Difference as Shipped, Entry, Store, StoreError, model_place
from shesha_bench.suites import Keys, Suite, Trial, load_suite, trials
from shesha_bench.tests import Cast, Output
from shesha_bench.tests.kinds import Difference

if TYPE_CHECKING:
    import pandas as pd


LOG = logging.getLogger(__name__)
Known = dict[tuple[str, str], dict[str, float]]
"""Differences between outputs, by the keys of both models and by `versioned_name`."""
_SHIPPED = tuple(field.name for field in fields(Shipped))[2:]


def versioned_name(kind: str, difference: Difference) -> str:
    """Return a difference's name in the store, which for your own differences includes a code version."""
    return kind if kind in _SHIPPED else f"{kind}+{version_of_code(difference)}"


def read_differences(store: Store) -> Known:
    """Return all stored differences."""
    differences: Known = {
        pair: dict(zip(_SHIPPED, astuple(row)[2:], strict=True)) for pair, row in store.differences().items()
    }
    if store.query("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'difference'"):
        for first, second, kind, value in store.query("SELECT first, second, kind, value FROM difference"):
            differences.setdefault((first, second), {})[kind] = float("nan") if value is None else value
    return differences


def complete_differences(store: Store, archive: Archive, keys: Sequence[str], wanted: Mapping[str, Difference]) -> None:
    """Compute and store those requested differences between trained models that the store lacks."""
    if not wanted:
        return
    known = read_differences(store)
    lacking = {
        kind: [pair for pair in combinations(keys, 2) if versioned_name(kind, difference) not in known.get(pair, {})]
        for kind, difference in wanted.items()
    }
    shipped = dict.fromkeys(pair for kind in lacking if kind in _SHIPPED for pair in lacking[kind])
    store.add_differences(jobs.compare_outputs(shipped, archive.folder))
    functions = {kind: difference for kind, difference in wanted.items() if kind not in _SHIPPED}
    outputs = {key: Output(*archive.outputs(key)[:2]) for key in keys} if functions else {}
    for kind, difference in functions.items():
        try:
            rows = [(*pair, difference(outputs[pair[0]], outputs[pair[1]])) for pair in lacking[kind]]
        except Exception as error:  # An error in a user's function must not end the run; the next run tries again.
            why = f"the difference {kind} has no value, so tests that need it have no scores: {failure_reason(error)}"
            LOG.warning(why)
            continue
        _write(store, versioned_name(kind, difference), rows)


def _write(store: Store, name: str, rows: Sequence[tuple[str, str, float]]) -> None:
    if not rows:
        return
    with store.transaction():
        store.query(DIFFERENCE)
        for first, second, value in rows:
            store.query("INSERT OR IGNORE INTO difference VALUES (?, ?, ?, ?)", (first, second, name, float(value)))


_FEWEST = 3
"""Smallest number of trainings per group for which a score can be computed with one training left out."""


def _leave_one_training_out(cast: Cast) -> Iterator[Cast]:
    """Yield the models repeatedly, each time without one training of each group."""
    sizes = [len(models) for models in cast.groups.values()]
    if min(sizes, default=0) < _FEWEST:
        return
    for left_out in range(max(sizes)):
        yield Cast(
            {
                group: tuple(model for index, model in enumerate(models) if index != left_out)
                for group, models in cast.groups.items()
            }
        )


def training_influences(value: float, left: Collection[float]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return each training's influence on a score, by the jackknife; empty if it is unknown."""
    without = np.array([float(score) for score in left], dtype=np.float64)
    if not len(without) or not np.isfinite(without).all() or not np.isfinite(value):
        return np.empty(0)
    influences: np.ndarray[Any, np.dtype[np.float64]] = (len(without) - 1) * (without.mean() - without)
    return influences


COLUMNS = ("domain", "dataset", "architecture", "pooling", "test", "quality", "measure", "value")
"""Columns of the published results; p_value, n, dropped and reason are appended to them."""
Depths = dict[tuple[str, str], int]


def results(store: str | Path | Store, of: Suite | None = None) -> pd.DataFrame:
    """Return the score of every measure in every test whose comparisons are complete.

    Parameters
    ----------
    store : path or Store
        The store of a run.
    of : Suite, optional
        The suite of the run, which is needed only if it is your own.

    Returns
    -------
    DataFrame
        The columns of `published` (without stars), and p_value, n (number of comparisons used), dropped (number of
        comparisons left out because they have no value) and reason (why a score is missing).
    """
    import pandas as pd

    with open_store(store) as db:
        planned = find_suite(db, of)
        rows = list(_rows(db, planned))
    extra = ("p_value", "n", "dropped", "reason")
    return pd.DataFrame(rows, columns=[*COLUMNS, *extra])


def find_suite(store: Store, of: Suite | None = None) -> Suite:
    """Return the suite to which a store belongs."""
    if of is not None:
        return of
    name = store.about().get("suite")
    if name is None:
        raise StoreError(f"store must contain a run, got {store.path}, which is empty")
    try:
        # A file that is only read must not determine which code is imported.
        return load_suite(name)
    except ValueError as error:
        raise StoreError(
            f"store must belong to a suite of the library, got {store.path} of suite {name!r}; pass your suite "
            "with --suite module:name, or as `of` in Python"
        ) from error


def list_trials(store: Store, of: Suite) -> tuple[list[Trial], Keys]:
    """Return the trials whose models have all been planned, and the keys of these models."""
    known = store.keys()
    all_trials: list[Trial] = []
    keys: dict[Model, str] = {}
    for trial in trials(of.tasks):
        places = {model: model_place(model) for model in trial.models}
        if all(place in known for place in places.values()):
            all_trials.append(trial)
            keys |= {model: known[place] for model, place in places.items()}
    return all_trials, keys


def _rows(store: Store, suite: Suite) -> Iterator[dict[str, Any]]:
    chosen, keys = list_trials(store, suite)
    depths, outputs, models = layer_counts(store), read_differences(store), store.models()
    failed = {key for key, model in models.items() if model.accuracy is None}
    work = [(trial, trial_differences(trial, keys, outputs, failed)) for trial in chosen]
    for entry in store.entries():
        cells = store.cells(entry.name, entry.version)
        for trial, known in work:
            values = trial_values(trial, entry, cells, keys, depths)
            if values is None or known is None:
                continue
            cast = trial.cast(keys, count_layers(trial, keys, depths))
            for row in trial.of.score(entry, values, cast, known):
                task = trial.task
                yield {
                    "domain": task.domain,
                    "dataset": task.dataset,
                    "architecture": task.architecture,
                    "pooling": trial.pooling,
                    **asdict(row),
                }


def layer_counts(store: Store) -> Depths:
    """Return how many layers have been compared, by model and pooling."""
    depths: Depths = {}
    for (name,) in store.query("SELECT first FROM cell UNION SELECT second FROM cell"):
        key, pooling, layer = name.split("/")
        if layer.isdigit():
            depths[key, pooling] = max(depths.get((key, pooling), 0), int(layer) + 1)
    return depths


def count_layers(trial: Trial, keys: Keys, depths: Depths) -> int:
    """Return how many layers a trial's models have, or 0 if none have been compared."""
    return max((depths.get((keys[model], trial.pooling), 0) for model in trial.models), default=0)


def find_cell(cells: Mapping[tuple[str, str], Cell], first: str, second: str, entry: Entry) -> Cell | None:
    """Return the comparison of a pair, or of the reversed pair if the measure is symmetric."""
    return cells.get((first, second)) or (cells.get((second, first)) if entry.symmetric else None)


def trial_values(
    trial: Trial,
    entry: Entry,
    cells: Mapping[tuple[str, str], Cell],
    keys: Keys,
    depths: Depths,
) -> dict[tuple[str, str], float] | None:
    """Return the value of each pair in a trial, NaN if it failed; None if pairs are still missing."""
    values = {}
    pairs = trial.pairs(entry.symmetric, keys, count_layers(trial, keys, depths))
    for first, second in pairs:
        cell = find_cell(cells, first, second, entry)
        if cell is None:
            return None
        values[first, second] = float("nan") if cell.value is None else cell.value
    return values or None


def trial_differences(
    trial: Trial, keys: Keys, known: Known, failed: Collection[str]
) -> dict[str, dict[tuple[str, str], float]] | None:
    """Return a trial's output differences, NaN for failed models; None if some are still missing."""
    wanted = trial.of.differences
    if not wanted:
        return {}
    differences: dict[str, dict[tuple[str, str], float]] = {kind: {} for kind in wanted}
    for a, b in combinations(trial.cast(keys, 0).names, 2):
        pair = model_key(a), model_key(b)
        for kind, difference in wanted.items():
            value = known.get(pair, {}).get(versioned_name(kind, difference))
            if value is None and not any(key in failed for key in pair):
                return None
            differences[kind][a, b] = float("nan") if value is None else value
    return differences


@contextmanager
def open_store(store: str | Path | Store) -> Iterator[Store]:
    """Open a store for reading, and close it again unless it was passed as an open store."""
    if isinstance(store, Store):
        yield store
        return
    with Store(store, create=False) as db:
        yield db


def accuracies(store: str | Path | Store, of: Suite | None = None) -> pd.DataFrame:
    """Return the test accuracy of every trained model."""
    import pandas as pd

    with open_store(store) as db:
        models = db.models()
        rows = [
            (*place, models[key].accuracy, models[key].seconds, models[key].reason)
            for place, key in db.keys().items()
            if key in models
        ]
    names = ("domain", "dataset", "architecture", "kind", "degree", "seed", "accuracy", "seconds", "reason")
    return pd.DataFrame(rows, columns=names)


def runtimes(store: str | Path | Store) -> pd.DataFrame:
    """Return the mean seconds per comparison by measure (rows) and architecture (columns), views included."""
    import pandas as pd

    with open_store(store) as db:
        places = {key: f"{place[2]} ({place[1]})" for place, key in db.keys().items()}
        cells = db.query("SELECT measure, first, seconds FROM cell NATURAL JOIN entry WHERE value IS NOT NULL")
    rows = [(measure, places.get(first.split("/", 1)[0]), seconds) for measure, first, seconds in cells]
    frame = pd.DataFrame(rows, columns=["measure", "architecture", "seconds"]).dropna()
    return frame.pivot_table(index="measure", columns="architecture", values="seconds", aggfunc="mean")


def comparisons(store: str | Path | Store) -> pd.DataFrame:
    """Return every comparison with its models, layers and measure, and its value or the reason for none.

    `rows_left_out` counts the rows that were left out because they have no direction, which the measure needs. Row
    numbers in a reason count only the rows that remain.
    """
    import pandas as pd

    with open_store(store) as db:
        places = {key: place for place, key in db.keys().items()}
        cells = [cell for entry in db.entries() for cell in db.cells(entry.name, entry.version).values()]
    rows = []
    for cell in sorted(cells, key=lambda cell: (cell.first, cell.second, cell.measure)):
        (key_a, pooling, layer_a), (key_b, _, layer_b) = cell.first.split("/"), cell.second.split("/")
        a, b = places.get(key_a), places.get(key_b)
        if a is not None and b is not None:
            numbers = (cell.measure, cell.version, cell.value, cell.seconds, cell.reason, cell.rows_left_out)
            rows.append((*a[:3], pooling, *a[3:], layer_a, *b[3:], layer_b, *numbers))
    sides = [f"{name}_{side}" for side in ("a", "b") for name in ("kind", "degree", "seed", "layer")]
    names = ["domain", "dataset", "architecture", "pooling", *sides]
    return pd.DataFrame(rows, columns=[*names, "measure", "version", "value", "seconds", "reason", "rows_left_out"])
