"""Submit the results of a measure in a suite as a file with its code hash, versions and seeds."""

from __future__ import annotations

import hashlib
import json
import platform
import re
from collections.abc import Collection, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shesha import __version__
from shesha.inputs import validation as check
from shesha.results.plain_values import replace_non_json
from shesha.support import argument_types as kinds
from shesha.support.atomic_files import write_text
from shesha.support.regular_files import read_json
from shesha_bench.output_difference_store import read_differences
from shesha_bench.run_plan import Trial
from shesha_bench.store import Entry, Store
from shesha_bench.stored_results import (
    Depths,
    count_layers,
    find_suite,
    layer_counts,
    list_trials,
    open_store,
    trial_differences,
    trial_values,
)
from shesha_bench.suites import Suite
from shesha_bench.training_jackknife import _leave_one_training_out

if TYPE_CHECKING:
    import pandas as pd

FORMAT = 1
_PLACE = ("domain", "dataset", "architecture", "pooling")
_KEY = ("suite", "measure", *_PLACE, "test", "quality")


def submit(
    store: str | Path | Store,
    folder: str | Path,
    *,
    measures: Collection[str] = (),
    of: Suite | None = None,
) -> list[Path]:
    """Write one JSON file per measure in a store, with its scores, code hash, versions and seeds.

    A file also contains each score as it would be without one of the trainings, for each training in turn. This shows
    how strongly the score depends on single trainings.

    Parameters
    ----------
    store : path or Store
        The store of a run.
    folder : path
        Folder for submissions. Files are written to a subfolder that has the suite's name, and replace earlier files of
        the same measures.
    measures : collection of str
        Names of the measures to submit; default: all measures that have a score.
    of : Suite, optional
        The suite of the run, which is needed only if it is your own.

    Returns
    -------
    list of Path
        The files that were written.

    Raises
    ------
    ValueError
        If the store lacks one of the measures or contains no complete test.
    """
    target = kinds.path(folder, "folder")
    with open_store(store) as db:
        planned = find_suite(db, of)
        known = {entry.name: entry for entry in db.entries()}
        if unknown := sorted(set(kinds.names(measures, "measures")) - set(known)):
            raise ValueError(f"measures must be among those of the store, got {check.join_items(unknown)}")
        chosen = [entry for name, entry in known.items() if not measures or name in measures]
        submissions = [submission for entry in chosen if (submission := _submission(db, planned, entry))["scores"]]
    if not submissions:
        raise ValueError("store must contain at least one complete test, got none")
    place = target / _file_name(planned.name)
    place.mkdir(parents=True, exist_ok=True)
    written = []
    for submission in submissions:
        path = measure_file(place, submission["measure"])
        write_text(path, json.dumps(replace_non_json(submission), indent=1, allow_nan=False) + "\n")
        written.append(path)
    return written


def read_submissions(folder: str | Path) -> pd.DataFrame:
    """Return the scores of all submissions in a folder and its subfolders.

    Parameters
    ----------
    folder : path
        Folder with submissions, as written by `submit`.

    Returns
    -------
    DataFrame
        Columns suite, measure, code (hash of the measure's code), closer, domain, dataset, architecture, pooling, test,
        quality, value, and left (the score without each of the trainings in turn).
    """
    import pandas as pd

    rows: dict[tuple[str, ...], dict[str, Any]] = {}
    place = kinds.path(folder, "folder")
    for path in sorted(place.rglob("*.json")):
        for row in _rows(path):
            key = tuple(row[name] for name in _KEY)
            if key in rows:
                raise ValueError(f"{path} must be the only submission of {row['measure']}, got two of {row['suite']}")
            rows[key] = row
    if not rows:
        raise ValueError(f"folder must contain submissions (shesha bench submit), got none in {folder}")
    return pd.DataFrame(list(rows.values()))


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    try:
        submission = read_json(path, "submission", follow_links=False)
        texts = {name: kinds.text(submission[name], name) for name in ("suite", "measure", "code")}
        texts["closer"] = check.choice(submission["closer"], ("higher", "lower"), "closer")
        if submission["format"] != FORMAT:
            raise ValueError(f"format {submission['format']}")
        for score in submission["scores"]:
            where = {name: kinds.text(score[name], name) for name in (*_PLACE, "test", "quality")}
            jackknife = tuple(_number(value) for value in score["without_training"])
            yield {**texts, **where, "value": _number(score["value"]), "left": jackknife}
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"{path} must be a submission of format {FORMAT}, got another file: {error}") from error


def _number(value: float | None) -> float:
    return float("nan") if value is None else check.finite_number(value, "value")


def measure_file(folder: Path, measure: str) -> Path:
    """Return the file for a measure; names that differ only in special characters get different files."""
    place = folder / f"{_file_name(measure)}.json"
    try:
        other = place.is_file() and read_json(place)["measure"] != measure
    except (ValueError, KeyError, TypeError):
        # An incomplete submission, or another file, is replaced.
        other = False
    return place.with_stem(f"{place.stem}_{hashlib.sha256(measure.encode()).hexdigest()[:8]}") if other else place


def _file_name(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_")


def _submission(store: Store, suite: Suite, entry: Entry) -> dict[str, Any]:
    trials, keys = list_trials(store, suite)
    depths, outputs = layer_counts(store), read_differences(store)
    failed = {key for key, model in store.models().items() if model.accuracy is None}
    cells = store.cells(entry.name, entry.version)
    scores: list[dict[str, Any]] = []
    seeds: dict[str, list[int]] = {}
    for trial in trials:
        values = trial_values(trial, entry, cells, keys, depths)
        differences = trial_differences(trial, keys, outputs, failed)
        if values is None or differences is None:
            continue
        rows = _scores(trial, entry, values, differences, keys, depths)
        scores += rows
        if rows:
            name = f"{trial.task} ({trial.test})"
            seeds[name] = sorted({model.seed for model in trial.models})
    return {
        "format": FORMAT,
        "measure": entry.name,
        "suite": suite.name,
        "code": entry.version,
        "closer": entry.closer,
        "versions": _versions(store),
        "seeds": seeds,
        "scores": scores,
    }


def _versions(store: Store) -> dict[str, str]:
    """Return the versions that affect numbers; that of this library is the one the run used."""
    libraries = {name: version(name) for name in ("numpy", "scipy")}
    return {"shesha": store.about().get("shesha", __version__), "python": platform.python_version(), **libraries}


def _scores(
    trial: Trial, entry: Entry, values: Any, differences: Any, keys: Any, depths: Depths
) -> list[dict[str, Any]]:
    cast = trial.cast(keys, count_layers(trial, keys, depths))
    place = {
        **{name: getattr(trial.task, name) for name in ("domain", "dataset", "architecture")},
        "pooling": trial.pooling,
    }
    reduced = [trial.of.score(entry, values, subset, differences) for subset in _leave_one_training_out(cast)]
    return [
        {
            **place,
            **{name: getattr(row, name) for name in ("test", "quality", "value", "n", "dropped", "reason")},
            "without_training": [rows[k].value for rows in reduced],
        }
        for k, row in enumerate(trial.of.score(entry, values, cast, differences))
    ]
