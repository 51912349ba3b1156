"""Report the progress of a run, and which of its comparisons have no value or use fewer rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shesha_bench.run_plan import Keys, Trial
from shesha_bench.store import Cell, Entry, Store, Trained
from shesha_bench.stored_results import (
    Depths,
    count_layers,
    find_cell,
    find_suite,
    layer_counts,
    list_trials,
    open_store,
)
from shesha_bench.suites import Suite
from shesha_bench.trained_models import Archive, model_key

if TYPE_CHECKING:
    import pandas as pd

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
