"""Run the cells of studies on any workers, and store the result of each."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from shesha import runs
from shesha.runs import Here, Job, Kept, Meter, ResultStore
from shesha_studies.framework.rows_csv_import import adopt
from shesha_studies.framework.run_description import machine_and_versions
from shesha_studies.framework.run_files import write
from shesha_studies.framework.run_results import StudyRun
from shesha_studies.framework.study_decorator import Study, Unreachable
from shesha_studies.framework.study_lookup import command_name, find

STORE = "studies.sqlite"
_MISSING = "unreachable"


def run(
    names: Iterable[str | Study],
    *,
    quick: bool = False,
    out: str | os.PathLike[str] = "studies",
    workers: int | None = 1,
    scheduler: str | None = None,
    again: bool = False,
    only: Mapping[str, str] | None = None,
) -> list[StudyRun]:
    """Compute the missing cells of studies, and write their tables and pages.

    Parameters
    ----------
    names : iterable of str or Study
        The studies, by name, as `module:attribute`, or as `Study` objects.
    quick : bool
        Whether to compute only the cells in the quick grid.
    out : path
        Folder for the results. It contains one store and, for each study, a folder with `rows.csv`, `page.md` and
        pictures. Existing rows of the same study version, such as those in a repository, are kept and completed, even
        if there is no store.
    workers, scheduler : int, str, optional
        Number of processes on this machine (None: one per core), or the address of a Dask cluster.
    again : bool
        Whether to compute rows again that already exist.
    only : mapping of str to str, optional
        Parameter names and values, as text. Only cells with these values are computed. Default: all cells.

    Returns
    -------
    list of StudyRun

    Raises
    ------
    ValueError
        If a study is unknown, or no cell in its grid has the parameter values in `only`.
    StoreError
        If the folder contains a store from another version of shesha.
    """
    chosen = [name if isinstance(name, Study) else find(name) for name in names]
    workers = runs.require_workers(workers, scheduler)
    grids = [_select_cells(study, study.quick if quick else study.full, only or {}) for study in chosen]
    folder = Path(out)
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(f"out must be a folder, got the file {folder}")
    folder.mkdir(parents=True, exist_ok=True)
    study_runs = []
    with runs.open_for_writing(folder / STORE) as store:
        for study, cells in zip(chosen, grids, strict=True):
            if not again:
                adopt(study, store, folder / study.name, _key)
            failures = _compute(study, cells, store, workers, scheduler, again)
            study_runs.append(_as_run(study, store, quick, failures))
            # Results are written now, because the next study may be interrupted.
            write(study_runs[-1], folder)
    return study_runs


def write_page(name: str | Study, out: str | os.PathLike[str] = "studies", *, quick: bool | None = None) -> Path:
    """Write the page from the existing rows, without computing anything.

    Parameters
    ----------
    name : str or Study
        The study.
    out : path
        Folder that contains the results.
    quick : bool, optional
        Whether to use the quick grid. By default, it is used if no cells of the full grid beyond it were computed.

    Raises
    ------
    ValueError
        If the folder contains no rows of the study.
    """
    return write(load_run(name, out, quick=quick), Path(out))


def load_run(name: str | Study, out: str | os.PathLike[str], *, quick: bool | None = None) -> StudyRun:
    """Return the existing rows of a study.

    Raises
    ------
    ValueError
        If the folder contains no rows of the study.
    """
    study = name if isinstance(name, Study) else find(name)
    command = f"shesha study run {command_name(study)} --out {out}"
    none = f"out must contain rows of {study.name}, got none in {out}: `{command}`"
    with _store_with_rows(study, Path(out)) as store:
        if quick is None:
            known = dict(store.items(study.kind))
            # An incomplete full grid with more cells says more than the quick grid.
            n_full, n_quick = (sum(_key(cell) in known for cell in cells) for cells in (study.full, study.quick))
            quick = n_full <= n_quick < len(study.full)
        study_run = _as_run(study, store, quick)
    if not len(study_run.rows):
        raise ValueError(none)
    return study_run


@contextmanager
def _store_with_rows(study: Study, folder: Path) -> Iterator[ResultStore]:
    """Open the folder's store or, if only the study's table exists, a temporary store filled from it."""
    if (folder / STORE).exists():
        with ResultStore(folder / STORE, create=False) as store:
            if next(iter(store.items(study.kind)), None) is not None:
                yield store
                return
    with TemporaryDirectory() as directory, runs.open_for_writing(Path(directory) / STORE) as store:
        adopt(study, store, folder / study.name, _key)
        yield store


class _Cells(Kept):
    """A plan that stores rows with their times; cells with missing data are not stored, but retried later."""

    def __init__(self, store: ResultStore, study: Study, jobs: Sequence[Job], meter: Meter) -> None:
        super().__init__(store, study.kind, jobs, meter)
        self.unreachable: dict[str, str] = {}

    def keep_result(self, job: Job, result: Any) -> float:
        seconds, row = result
        if _MISSING in row:
            self.unreachable[job.key] = row[_MISSING]
            return float(seconds)
        return super().keep_result(job, (seconds, {**row, "seconds": seconds, "day": time.strftime("%Y-%m-%d")}))


def _select_cells(study: Study, cells: Sequence[dict[str, Any]], only: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the cells that have these parameter values."""
    matches = list(cells)
    for name, wanted in only.items():
        values = sorted({str(cell[name]) for cell in matches if name in cell})
        matches = [cell for cell in matches if name in cell and str(cell[name]) == wanted]
        if not matches:
            raise ValueError(
                f"only must name a parameter of the grid of {study.name} with one of its values "
                f"({', '.join(study.full[0])}{f'; {name}: ' + ', '.join(values) if values else ''}), "
                f"got {name}={wanted}"
            )
    return matches


def _compute(
    study: Study,
    cells: Sequence[dict[str, Any]],
    store: ResultStore,
    workers: int | None,
    scheduler: str | None,
    again: bool,
) -> dict[str, str]:
    """Compute the missing cells; return the reasons for failures, and record missing data for the page."""
    jobs = [Job(_key(cell), study.name, 1.0, _compute_cell, (study.reference, cell)) for cell in cells]
    if again:
        store.forget(study.kind, [job.key for job in jobs])
    is_parallel = scheduler is not None or (workers or runs.cores()) > 1
    workforce = runs.executor(workers, scheduler) if is_parallel else Here()
    meter = Meter(workforce.n_workers, f"cells of {study.name}")
    plan = _Cells(store, study, jobs, meter)
    with meter:
        runs.run(plan, workforce, meter)
    store.forget(_missing_key(study), [job.key for job in jobs])
    store.put(_missing_key(study), plan.unreachable)
    return plan.failures


def _missing_key(study: Study) -> str:
    """Return the kind under which a store keeps the reasons for missing rows."""
    return f"{study.kind} {_MISSING}"


def _compute_cell(reference: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Compute a cell in any process, and record the machine that computed it."""
    try:
        return {"row": find(reference)(**parameters), "place": machine_and_versions()}
    except Unreachable as error:
        return {_MISSING: str(error)}


def _key(parameters: dict[str, Any]) -> str:
    return json.dumps(parameters, sort_keys=True)


def _as_run(study: Study, store: ResultStore, quick: bool, failures: Mapping[str, str] | None = None) -> StudyRun:
    """Collect the existing rows of a grid, in the order of the grid."""
    import pandas as pd

    cells = study.quick if quick else study.full
    with store.decoding():
        known = {key: json.loads(text) for key, text in store.items(study.kind)}
        entries = [known[_key(cell)] for cell in cells if _key(cell) in known]
        rows = pd.DataFrame([entry["row"] for entry in entries])
        days = sorted({entry["day"] for entry in entries})
        seconds = tuple(float(entry["seconds"]) for entry in entries)
        places = Counter(entry["place"] for entry in entries if "place" in entry)
    missing = dict(store.items(_missing_key(study)))
    unreachable = {_key(cell): missing[_key(cell)] for cell in cells if _key(cell) in missing}
    return StudyRun(study, rows, dict(failures or {}), unreachable, len(cells), quick, seconds, tuple(days), places)
