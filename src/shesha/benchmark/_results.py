"""From the numbers in a store to the scores of the measures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shesha.benchmark.models import Model
from shesha.benchmark.plan import Keys, Trial, trials
from shesha.benchmark.scoring import ScoreRow, score_groups, score_layers, score_prediction
from shesha.benchmark.store import Cell, Entry, Store, StoreError
from shesha.benchmark.suites import Suite, suite

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("domain", "dataset", "architecture", "pooling", "test", "quality", "measure", "value")
"""Those of the published results; p_value, n, dropped and reason follow."""


def results(store: str | Path | Store, of: Suite | None = None) -> pd.DataFrame:
    """Return the scores of all measures in all tests that are complete.

    Parameters
    ----------
    store : path or Store
        What `run` wrote.
    of : Suite, optional
        The suite that was run, where it is one of your own.

    Returns
    -------
    DataFrame
        The columns of `published()` (without stars) and p_value, n (comparisons used), dropped (comparisons without a
        value, left out) and reason (why a score is missing).
    """
    import pandas as pd

    with _opened(store) as found:
        planned = suite_of(found, of)
        rows = list(_rows(found, planned))
    extra = ("p_value", "n", "dropped", "reason")
    return pd.DataFrame(rows, columns=[*COLUMNS, *extra])


def suite_of(store: Store, of: Suite | None = None) -> Suite:
    """Return the suite that a store belongs to."""
    if of is not None:
        return of
    name = store.about().get("suite")
    if name is None:
        raise StoreError(f"store must hold a run, got {store.path}, which holds none yet")
    return suite(name)


def planned_trials(store: Store, of: Suite) -> tuple[list[Trial], Keys]:
    """Return the trials whose models have been planned, and the models' keys."""
    known = store.keys()
    found: list[Trial] = []
    keys: dict[Model, str] = {}
    for trial in trials(of.tasks):
        places = {
            model: (m.domain, m.dataset, m.architecture, m.setting.kind, m.setting.degree, m.seed)
            for model in trial.models
            for m in (model,)
        }
        if all(place in known for place in places.values()):
            found.append(trial)
            keys |= {model: known[place] for model, place in places.items()}
    return found, keys


def _rows(store: Store, of: Suite) -> Iterator[dict[str, Any]]:
    chosen, keys = planned_trials(store, of)
    outputs = store.differences()
    for entry in store.entries():
        cells = store.cells(entry.name, entry.version)
        depths = _depths(cells)
        for trial in chosen:
            values = _values(trial, entry, cells, keys, depths)
            if values is None:
                continue
            for row in _scored(trial, entry, values, keys, depths, outputs):
                task = trial.task
                yield {
                    "domain": task.domain,
                    "dataset": task.dataset,
                    "architecture": task.architecture,
                    "pooling": trial.pooling,
                    **asdict(row),
                }


def _depths(cells: Mapping[tuple[str, str], Cell]) -> dict[tuple[str, str], int]:
    """Number of layers by model and pooling."""
    found: dict[tuple[str, str], int] = {}
    for pair in cells:
        for name in pair:
            key, pooling, layer = name.split("/")
            if layer.isdigit():
                found[key, pooling] = max(found.get((key, pooling), 0), int(layer) + 1)
    return found


def _n_layers(trial: Trial, keys: Keys, depths: Mapping[tuple[str, str], int]) -> int:
    return max((depths.get((keys[model], trial.pooling), 0) for model in trial.models), default=0)


def _cell(cells: Mapping[tuple[str, str], Cell], first: str, second: str, entry: Entry) -> Cell | None:
    """Return the comparison of a pair, in whichever order it was made if the order does not matter."""
    return cells.get((first, second)) or (cells.get((second, first)) if entry.symmetric else None)


def _values(
    trial: Trial,
    entry: Entry,
    cells: Mapping[tuple[str, str], Cell],
    keys: Keys,
    depths: Mapping[tuple[str, str], int],
) -> dict[tuple[str, str], float] | None:
    """Return the values of a trial's pairs, NaN for those that failed; None while some are still to come."""
    values = {}
    pairs = trial.pairs(entry.symmetric, keys, _n_layers(trial, keys, depths))
    for first, second in pairs:
        cell = _cell(cells, first, second, entry)
        if cell is None:
            return None
        values[first, second] = float("nan") if cell.value is None else cell.value
    return values or None


def _scored(
    trial: Trial,
    entry: Entry,
    values: Mapping[tuple[str, str], float],
    keys: Keys,
    depths: Mapping[tuple[str, str], int],
    outputs: Mapping[tuple[str, str], Any],
) -> list[ScoreRow]:
    if trial.test == "layer_monotonicity":
        return score_layers(entry, values, trial.layered(keys, _n_layers(trial, keys, depths)))
    names = trial.names(keys)
    if trial.test not in ("accuracy", "output"):
        return score_groups(trial.test, entry, values, names)
    flat = [name for group in names.values() for name in group]
    own = {name: keys[model] for name, model in zip(flat, trial.models, strict=True)}
    wanted = ("accuracy",) if trial.test == "accuracy" else ("jsd", "disagreement")
    differences = {
        kind: {
            (a, b): getattr(outputs.get((own[a], own[b])), kind, float("nan"))
            for at, a in enumerate(flat)
            for b in flat[at + 1 :]
        }
        for kind in wanted
    }
    return score_prediction(entry, values, flat, differences)


class _opened:
    """A store that is open already stays open."""

    def __init__(self, store: str | Path | Store) -> None:
        self._own = not isinstance(store, Store)
        self._store = store if isinstance(store, Store) else Store(store, create=False)

    def __enter__(self) -> Store:
        return self._store

    def __exit__(self, *error: Any) -> None:
        if self._own:
            self._store.__exit__(None, None, None)


def status(store: str | Path | Store, of: Suite | None = None) -> pd.DataFrame:
    """Return how far each test is: models and comparisons, done, failed and in all."""
    import pandas as pd

    with _opened(store) as found:
        chosen, keys = planned_trials(found, suite_of(found, of))
        models = found.models()
        entries = [(entry, found.cells(entry.name, entry.version)) for entry in found.entries()]
    depths = [_depths(cells) for _, cells in entries]
    rows = []
    for trial in chosen:
        mine = {keys[model] for model in trial.models}
        there = [models[key] for key in mine if key in models]
        cells = [
            _cell(some, *pair, entry)
            for (entry, some), deep in zip(entries, depths, strict=True)
            for pair in trial.pairs(entry.symmetric, keys, _n_layers(trial, keys, deep))
        ]
        rows.append(
            {
                "dataset": trial.task.dataset,
                "architecture": trial.task.architecture,
                "pooling": trial.pooling,
                "test": trial.test,
                "models": len(mine),
                "trained": sum(one.accuracy is not None for one in there),
                "models failed": sum(one.accuracy is None for one in there),
                "comparisons": len(cells),
                "compared": sum(cell is not None for cell in cells),
                "without value": sum(cell is not None and cell.value is None for cell in cells),
            }
        )
    return pd.DataFrame(rows)


def accuracies(store: str | Path | Store, of: Suite | None = None) -> pd.DataFrame:
    """Return the test accuracy of every trained model."""
    import pandas as pd

    with _opened(store) as found:
        models = found.models()
        rows = [
            (*place, models[key].accuracy, models[key].seconds, models[key].reason)
            for place, key in found.keys().items()
            if key in models
        ]
    names = ("domain", "dataset", "architecture", "kind", "degree", "seed", "accuracy", "seconds", "reason")
    return pd.DataFrame(rows, columns=names)


def runtimes(store: str | Path | Store) -> pd.DataFrame:
    """Return the mean seconds of a comparison by measure (rows) and architecture (columns), views included."""
    import pandas as pd

    with _opened(store) as found:
        places = {key: f"{place[2]} ({place[1]})" for place, key in found.keys().items()}
        cells = found.query("SELECT measure, first, seconds FROM cell NATURAL JOIN entry WHERE value IS NOT NULL")
    rows = [(measure, places.get(first.split("/", 1)[0]), seconds) for measure, first, seconds in cells]
    frame = pd.DataFrame(rows, columns=["measure", "architecture", "seconds"]).dropna()
    return frame.pivot_table(index="measure", columns="architecture", values="seconds", aggfunc="mean")


def comparisons(store: str | Path | Store) -> pd.DataFrame:
    """Return every comparison: the two models and layers, the measure, its value, seconds, or why there is none."""
    import pandas as pd

    with _opened(store) as found:
        places = {key: place for place, key in found.keys().items()}
        cells = found.query(
            "SELECT first, second, measure, version, value, seconds, reason FROM cell NATURAL JOIN entry"
        )
    rows = []
    for first, second, *rest in cells:
        (key_a, pooling, layer_a), (key_b, _, layer_b) = first.split("/"), second.split("/")
        a, b = places.get(key_a), places.get(key_b)
        if a is not None and b is not None:
            rows.append((*a[:3], pooling, *a[3:], layer_a, *b[3:], layer_b, *rest))
    sides = [f"{name}_{side}" for side in ("a", "b") for name in ("kind", "degree", "seed", "layer")]
    names = ["domain", "dataset", "architecture", "pooling", *sides]
    return pd.DataFrame(rows, columns=[*names, "measure", "version", "value", "seconds", "reason"])
