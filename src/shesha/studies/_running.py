"""Running studies: cells on any workers, kept as they come; then a table, pictures and a page."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shesha import runs
from shesha._atomic import write_text
from shesha._version import __version__
from shesha.runs import Here, Job, Kept, Meter, ResultStore
from shesha.studies._page import save_page
from shesha.studies._registry import find
from shesha.studies._study import Study, Unreachable

if TYPE_CHECKING:
    import pandas as pd

STORE = "studies.sqlite"
PUBLISHED = Path(__file__).with_name("published")
_MISSING = "unreachable"


@dataclass(frozen=True)
class StudyRun:
    """What became of the cells of a study."""

    study: Study
    rows: pd.DataFrame
    """One line per cell that has one, in the order of the grid."""
    failures: dict[str, str]
    """Cells that raised an error, with the reason; by their parameters."""
    unreachable: dict[str, str]
    """Cells whose data or weights are not there."""
    n_cells: int
    quick: bool

    @property
    def complete(self) -> bool:
        """Whether every cell has a row."""
        return len(self.rows) == self.n_cells


def run(
    names: Iterable[str | Study],
    *,
    quick: bool = False,
    out: str | os.PathLike[str] = "studies",
    workers: int | None = 1,
    scheduler: str | None = None,
    again: bool = False,
) -> list[StudyRun]:
    """Compute the cells of studies that are not there yet, and write their tables and pages.

    Parameters
    ----------
    names : iterable of str or Study
        Names, `module:attribute`, or studies.
    quick : bool
        Only the cells of the quick grid.
    out : path
        Folder of the results: one store for all, one folder per study with `rows.csv`, `page.md` and pictures.
    workers, scheduler : int, str, optional
        Processes of this machine (None: one per core), or the address of a Dask cluster.
    again : bool
        Compute anew what is there.

    Returns
    -------
    list of StudyRun

    Raises
    ------
    ValueError
        If a study is unknown.
    """
    chosen = [one if isinstance(one, Study) else find(one) for one in names]
    runs.require_workers(workers, scheduler)
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    found = []
    with runs.writing(folder / STORE) as store:
        for one in chosen:
            found.append(_run_one(one, store, quick, workers, scheduler, again))
            # Before the next study, which may be interrupted.
            _write(found[-1], folder)
    return found


def write_page(name: str | Study, out: str | os.PathLike[str] = "studies", *, quick: bool | None = None) -> Path:
    """Write the page of what is there, without computing anything.

    Parameters
    ----------
    name : str or Study
    out : path
        Folder of the results.
    quick : bool, optional
        Which grid the page is of; default: the full one if all its cells are there.

    Raises
    ------
    ValueError
        If no cell of the study is there.
    """
    study = name if isinstance(name, Study) else find(name)
    with ResultStore(Path(out) / STORE, create=False) as store:
        known = {key: json.loads(text) for key, text in store.items(study.kind)}
    full = all(_key(one) in known for one in study.full)
    of_quick = not full if quick is None else quick
    found = _as_run(study, study.quick if of_quick else study.full, known, {}, {}, of_quick)
    if not len(found.rows):
        raise ValueError(f"out must hold rows of {study.name}, got none in {out}: `shesha study run {study.name}`")
    return _write(found, Path(out))


class _Cells(Kept):
    """Cells whose data are missing are not kept: the next run looks again."""

    def __init__(self, store: ResultStore, study: Study, jobs: Sequence[Job], meter: Meter) -> None:
        super().__init__(store, study.kind, jobs, meter)
        self.unreachable: dict[str, str] = {}

    def done(self, job: Job, result: Any) -> float:
        seconds, row = result
        if _MISSING in row:
            self.unreachable[job.key] = row[_MISSING]
            return float(seconds)
        return super().done(job, result)


def _run_one(
    study: Study, store: ResultStore, quick: bool, workers: int | None, scheduler: str | None, again: bool
) -> StudyRun:
    cells = study.quick if quick else study.full
    jobs = [Job(_key(one), study.name, 1.0, _computed, (study.reference, one)) for one in cells]
    if again:
        store.forget(study.kind, [job.key for job in jobs])
    apart = scheduler is not None or (workers or runs.cores()) > 1
    workforce = runs.executor(workers, scheduler) if apart else Here()
    meter = Meter(workforce.n_workers, f"cells of {study.name}")
    plan = _Cells(store, study, jobs, meter)
    with meter:
        runs.run(plan, workforce, meter)
    return _as_run(study, cells, plan.results, plan.failures, plan.unreachable, quick)


def _computed(reference: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Compute a cell in whatever process this is."""
    try:
        return find(reference)(**parameters)
    except Unreachable as error:
        return {_MISSING: str(error)}


def _key(parameters: dict[str, Any]) -> str:
    return json.dumps(parameters, sort_keys=True)


def _as_run(
    study: Study,
    cells: Sequence[dict[str, Any]],
    known: dict[str, Any],
    failures: dict[str, str],
    unreachable: dict[str, str],
    quick: bool,
) -> StudyRun:
    import pandas as pd

    rows = pd.DataFrame([known[_key(one)] for one in cells if _key(one) in known])
    return StudyRun(study, rows, dict(failures), dict(unreachable), len(cells), quick)


def _write(found: StudyRun, folder: Path) -> Path:
    """Write the rows, and the page if there are any."""
    import pandas as pd

    study, own = found.study, folder / found.study.name
    own.mkdir(parents=True, exist_ok=True)
    write_text(own / "rows.csv", found.rows.to_csv(index=False))
    if not len(found.rows):
        write_text(own / "page.md", "\n\n".join([f"# {study.name}", study.question, *_said(found)]) + "\n")
        return own / "page.md"
    published = None if study.published is None else pd.read_csv(PUBLISHED / study.published, comment="#")
    page = study.pages[0](found.rows, published)
    return save_page(page, own, f"{study.name} ({study.paper})", study.question, "\n\n".join(_said(found)))


def _said(found: StudyRun) -> Iterator[str]:
    """Say what was run, and what was not."""
    study, grid = found.study, "quick" if found.quick else "full"
    flag = " --quick" if found.quick else ""
    python = ".".join(map(str, sys.version_info[:2]))
    yield (
        f"`shesha study run {study.name}{flag}`: {len(found.rows)} of the {found.n_cells} cells of the {grid} grid "
        f"(version {study.version} of the study; shesha {__version__}, Python {python}). Rows: `rows.csv`."
    )
    for what, cells in (("raised an error", found.failures), ("could not be reached", found.unreachable)):
        if cells:
            reasons = sorted(set(cells.values()))
            yield f"{len(cells)} cells {what}: " + "; ".join(reasons[:5]) + "."
