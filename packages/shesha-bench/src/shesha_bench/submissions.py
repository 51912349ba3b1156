"""The leaderboard: submissions of results, one file per measure, and the ranks of all submissions."""

from __future__ import annotations

import hashlib
import json
import platform
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shesha import __version__
from shesha.inputs import validation as check
from shesha.report import markdown_table
from shesha.results.base import replace_non_json
from shesha.support import types as kinds
from shesha.support.files import read_json, write_text
from shesha.support.seeds import generator
from shesha.support.types import Seed
from shesha.support.wording import visible_markdown
from shesha_bench.ranks import CELL, base_name, published
from shesha_bench.store import Entry, Store
from shesha_bench.stored_results import (
    Depths,
    _leave_one_training_out,
    count_layers,
    find_suite,
    layer_counts,
    list_trials,
    open_store,
    read_differences,
    training_influences,
    trial_differences,
    trial_values,
)
from shesha_bench.suites import Suite, Trial
from shesha_bench.tests.registry import main_qualities, ranking_scores

if TYPE_CHECKING:
    import pandas as pd


FORMAT = 1
_BOUNDS = {"auprc": (0, 1), "conformity": (0, 1), "spearman": (-1, 1), "spearman_pooled": (-1, 1)}
"""Smallest and largest value of each quality."""
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
            jackknife = tuple(_finite(value) for value in score["without_training"])
            value, (low, high) = _finite(score["value"]), _BOUNDS.get(where["quality"], (-np.inf, np.inf))
            if any(not low <= one <= high for one in (value, *jackknife) if one == one):
                raise ValueError(f"{where['quality']} must be between {low} and {high}, got {value}")
            yield {**texts, **where, "value": value, "left": jackknife}
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"{path} must be a submission of format {FORMAT}, got another file: {error}") from error


def _finite(value: float | None) -> float:
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


_CALIBRATED = "calibrated "
PUBLISHED = " (published)"
"""Suffix of the names of measures whose scores are taken from the paper."""
_LEVEL = 0.05
_WHOLE_RANKS = 0.83
"""Minimum standard deviation of a difference between two ranks, because a few tasks that agree do not show that the
next one will. With only two measures, one is ahead if at least seven tasks agree.
"""
Cube = NDArray[np.float64]


def leaderboard(
    folder: str | Path, *, suite: str | None = None, n_resamples: int = 2000, seed: Seed = 0
) -> pd.DataFrame:
    """Rank the submitted measures, with intervals over trainings and tasks.

    Parameters
    ----------
    folder : path
        Folder with submissions that `submit` wrote.
    suite : str, optional
        Suite whose submissions are ranked; required if the folder contains several suites.
    n_resamples : int
        Number of resamples of trainings and tasks, at least 100.
    seed : int, Generator or None
        Seed of the resamples.

    Returns
    -------
    DataFrame
        Columns domain, measure (published ones are marked), score and calibrated (mean scores over the tasks; NaN if no
        calibrated variant was submitted), mean_rank, position_low and position_high (measures with equal ranges tie;
        NaN if a domain has a single measure), n_tasks, source ('own' or 'published'). The best mean rank comes first.

    Notes
    ----- A measure is ahead of another if the difference between their mean ranks exceeds the margin of its 95 %
    interval. This margin is the standard deviation over resamples, times a quantile of Student's t for the number of
    tasks (or of trainings, if there is one task). Trainings are resampled by a first-order jackknife approximation, and
    tasks (networks on data sets) with replacement. For published scores, separate trainings are unknown, so only tasks
    are resampled.
    """
    import pandas as pd

    n_resamples = check.count(n_resamples, "n_resamples", minimum=100)
    frame = _counting_scores(folder, suite)
    boards = [
        _board(str(domain), rows, n_resamples, generator(seed)) for domain, rows in frame.groupby("domain", sort=True)
    ]
    return pd.concat(boards, ignore_index=True)


def leaderboard_page(folder: str | Path, *, suite: str | None = None, seed: Seed = 0) -> str:
    """Return the leaderboard as Markdown, with an explanation of the positions.

    Parameters
    ----------
    folder, suite, seed
        As for `leaderboard`.
    """
    board, scores = leaderboard(folder, suite=suite, seed=seed), _counting_scores(folder, suite)
    lines = [f"# Leaderboard: suite {visible_markdown(scores['suite'].iloc[0])}", "", _HEAD, ""]
    for domain, rows in board.groupby("domain", sort=False):
        lines += [
            f"## {visible_markdown(str(domain)).capitalize()}",
            "",
            _basis(rows, scores[scores["domain"] == domain]),
            "",
        ]
        head = ["measure", "position", "mean rank", "score", "calibrated"]
        cells = [
            [
                visible_markdown(row["measure"]),
                _places(row),
                *(_number(row[key]) for key in ("mean_rank", "score", "calibrated")),
            ]
            for row in rows.to_dict("records")
        ]
        lines += [markdown_table(head, cells, numbers=3), ""]
    return "\n".join(lines).rstrip("\n") + "\n"


_HEAD = (
    "One line per measure. *Position* is the range of positions that other trainings and tasks could give (95 %). "
    "Measures with equal ranges tie. *Score* is the mean over tasks and tests (AUPRC or rank correlation; 1 is best). "
    "*Calibrated* is the same mean for the calibrated measure. Rows marked (published) are the paper's scores for its "
    "own models. A dash means that the measure has no position, because it is the only one or lacks a test that "
    "most measures have."
)


def _basis(rows: pd.DataFrame, scores: pd.DataFrame) -> str:
    """Describe the tasks and tests on which the positions are based."""
    used = _complete(scores)[0]
    tasks = sorted(
        {visible_markdown(f"{a} on {b}") for a, b in zip(used["architecture"], used["dataset"], strict=True)}
    )
    tests = ", ".join(sorted(set(used["test"])))
    text = f"{len(tasks)} {'task' if len(tasks) == 1 else 'tasks'} ({', '.join(tasks)}); tests: {tests}."
    if len(tasks) == 1:
        text += " With one task, positions account for other trainings but not for other tasks."
    if len(rows) == 1:
        text += " A single measure has no position. Submit other measures of the same suite."
    return text


def _places(row: Mapping[Any, Any]) -> str:
    low, high = row["position_low"], row["position_high"]
    if low != low:
        return "-"
    return f"{low:.0f}" if low == high else f"{low:.0f} to {high:.0f}"


def _number(value: float) -> str:
    return "" if value != value else f"{value:.2f}"


def _counting_scores(folder: str | Path, suite: str | None) -> pd.DataFrame:
    """Return those scores of one suite that count in ranks, one kind per test."""
    frame = _one_suite(read_submissions(folder), suite)
    frame = frame[frame["test"].isin(list(ranking_scores()))]
    frame = frame[frame["quality"] == frame["test"].map(main_qualities())]
    if frame.empty:
        raise ValueError("folder must contain submissions with scores that count in ranks, got none")
    return frame


def _one_suite(frame: pd.DataFrame, suite: str | None) -> pd.DataFrame:
    known = sorted(set(frame["suite"]))
    if suite is None and len(known) > 1:
        raise ValueError(f"suite must be one of {', '.join(known)}, got none")
    if suite is not None:
        check.choice(suite, known, "suite")
        return frame[frame["suite"] == suite]
    return frame


def _board(domain: str, rows: pd.DataFrame, n_resamples: int, rng: np.random.Generator) -> pd.DataFrame:
    import pandas as pd

    calibrated = rows[rows["measure"].str.startswith(_CALIBRATED)]
    scores = {
        str(name).removeprefix(_CALIBRATED): float(part["value"].mean()) for name, part in calibrated.groupby("measure")
    }
    complete, partial = _complete(_add_published(rows))
    cells, measures, values = _table(complete)
    ranks = _mean_ranks(values[None], np.arange(len(cells))[None])[0]
    n_tasks = len({cell[1:3] for cell in cells})
    low = high = np.full(len(measures), np.nan)
    if len(measures) > 1:
        drawn = _resampled_ranks(complete, cells, measures, values, n_resamples, rng)
        low, high = _place_ranges(ranks, drawn, n_tasks, max(map(len, complete["left"])))
    board = pd.DataFrame(
        {
            "domain": domain,
            "measure": measures,
            "score": np.nanmean(values, axis=0),
            "calibrated": [scores.get(name, np.nan) for name in measures],
            "mean_rank": ranks,
            "position_low": low,
            "position_high": high,
            "n_tasks": n_tasks,
            "source": ["published" if name.endswith(PUBLISHED) else "own" for name in measures],
        }
    )
    ordered = board.sort_values(["mean_rank", "measure"], ignore_index=True)
    return pd.concat([ordered, _rows_without_rank(domain, partial)], ignore_index=True) if partial else ordered


def _rows_without_rank(domain: str, measures: Sequence[str]) -> pd.DataFrame:
    """Return rows for measures that lack a test that most measures have."""
    import pandas as pd

    numbers = ("score", "calibrated", "mean_rank", "position_low", "position_high")
    missing = dict.fromkeys(numbers, np.nan)
    return pd.DataFrame({"domain": domain, "measure": measures, **missing, "n_tasks": 0, "source": "own"})


def _complete(rows: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Return the scores in cells that most measures have, and the measures that lack some of these.

    A measure that was not run on some task must neither rank last there nor be ranked only on easier tasks.
    """
    import pandas as pd

    keys = pd.MultiIndex.from_frame(rows[list(CELL)])
    n_measures = rows["measure"].nunique()
    counted = keys.value_counts()
    shared = keys.isin(counted.index[2 * counted.to_numpy() >= n_measures])
    kept = rows[shared]
    counts = kept.groupby("measure").size().reindex(rows["measure"].unique(), fill_value=0)
    partial = sorted(str(name) for name in counts.index[counts < counts.max()])
    return kept[~kept["measure"].isin(partial)], [name for name in partial if not name.endswith(PUBLISHED)]


def _add_published(rows: pd.DataFrame) -> pd.DataFrame:
    """Add published scores, marked as such, of measures not submitted for these networks and tests."""
    import pandas as pd

    paper = published()
    wanted = set(rows[list(CELL)].itertuples(index=False, name=None))
    there = {base_name(name) for name in rows["measure"]}
    places = paper[list(CELL)].itertuples(index=False, name=None)
    kept = pd.Series([place in wanted for place in places], index=paper.index) & ~paper["measure"].isin(there)
    if not kept.any():
        return rows
    chosen = paper[kept]
    marked = chosen.assign(measure=[f"{name}{PUBLISHED}" for name in chosen["measure"]], left=[""] * len(chosen))
    return pd.concat([rows, marked[[*CELL, "measure", "value", "left"]]], ignore_index=True)


def _table(rows: pd.DataFrame) -> tuple[list[tuple[Any, ...]], list[str], Cube]:
    """Return the cells, the measures, and the scores of shape (n_cells, n_measures)."""
    table = rows.pivot(index=list(CELL), columns="measure", values="value")
    return list(table.index), [str(name) for name in table.columns], table.to_numpy(dtype=np.float64)


def _resampled_ranks(
    rows: pd.DataFrame,
    cells: Sequence[tuple[Any, ...]],
    measures: Sequence[str],
    values: Cube,
    n_resamples: int,
    rng: np.random.Generator,
) -> Cube:
    """Return the mean ranks in each resample of trainings and tasks, of shape (n_resamples, n_measures)."""
    moved: Cube = np.repeat(values[None], n_resamples, axis=0)
    place = {cell: index for index, cell in enumerate(cells)}
    columns = {name: index for index, name in enumerate(measures)}
    draws: dict[tuple[int, int], NDArray[np.float64]] = {}
    for row in rows.itertuples(index=False):
        position = place[tuple(getattr(row, name) for name in CELL)]
        influence = training_influences(float(row.value), row.left)  # type: ignore[arg-type]
        if len(influence):
            # All measures of a cell use the same resample of trainings.
            key = position, len(influence)
            if key not in draws:
                drawn = rng.multinomial(key[1], np.full(key[1], 1 / key[1]), n_resamples)
                draws[key] = np.asarray(drawn - 1, dtype=np.float64)
            column = columns[str(row.measure)]
            moved[:, position, column] += draws[key] @ influence / key[1]
    return _mean_ranks(moved, _resampled_cells(cells, n_resamples, rng))


def _resampled_cells(cells: Sequence[tuple[Any, ...]], n_resamples: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Draw whole tasks with all their cells, repeating drawn cells until all draws have equal length."""
    tasks: dict[tuple[Any, ...], list[int]] = {}
    for index, cell in enumerate(cells):
        tasks.setdefault(cell[1:3], []).append(index)
    groups = list(tasks.values())
    length = len(groups) * max(map(len, groups))
    drawn = np.empty((n_resamples, length), dtype=np.intp)
    for line in drawn:
        chosen = [index for task in rng.integers(len(groups), size=len(groups)) for index in groups[task]]
        line[:] = np.resize(np.array(chosen, dtype=np.intp), length)
    return drawn


def _mean_ranks(values: Cube, cells: NDArray[np.intp]) -> Cube:
    """Return mean ranks over the cells of each draw; 1 is best, ties share ranks, missing scores are last."""
    from scipy.stats import rankdata

    known = np.where(np.isfinite(values), np.round(values, 10), -np.inf)
    ranks = rankdata(-known, axis=2)
    means: Cube = np.stack([draw[chosen].mean(axis=0) for draw, chosen in zip(ranks, cells, strict=True)])
    return means


def _place_ranges(ranks: Cube, drawn: Cube, n_tasks: int, n_trainings: int) -> tuple[Cube, Cube]:
    """Return the range of positions: 1 + measures surely ahead, to the total minus those surely behind."""
    from scipy.stats import t

    n_units = n_tasks if n_tasks > 1 else max(2, n_trainings)
    lead = ranks[None, :] - ranks[:, None]
    spread = (drawn[:, None, :] - drawn[:, :, None]).std(axis=0) * np.sqrt(n_units / (n_units - 1))
    if n_tasks > 1:
        spread = np.maximum(spread, _WHOLE_RANKS / np.sqrt(n_tasks))
        # This is the usual continuity correction.
        lead = np.sign(lead) * np.maximum(np.abs(lead) - 1 / n_tasks, 0.0)
    # Entry (i, j) is True if measure j has a better mean rank than i by more than the margin.
    ahead = lead < -np.maximum(t.ppf(1 - _LEVEL / 2, n_units - 1) * spread, 1e-9)
    return 1.0 + ahead.sum(axis=1), len(ranks) - ahead.sum(axis=0).astype(np.float64)
