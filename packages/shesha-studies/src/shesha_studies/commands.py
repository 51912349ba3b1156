"""`shesha study`: run the experiments of papers, and compare with the published numbers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shesha.cli import package_commands as shared
from shesha.cli.package_commands import INTERRUPTED, echo

if TYPE_CHECKING:
    from shesha_studies import StudyRun

study = typer.Typer(
    name="study",
    help="Repeat published experiments, and compare the results with the published numbers.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
OutFolder = Annotated[Path, typer.Option(help="Folder of the results; existing results are kept.")]
_DEFAULT = Path("studies")
_INCOMPLETE = 1


def _names(incomplete: str) -> list[str]:
    """Return the names of studies that complete what was typed."""
    from shesha_studies import studies

    return [study.name for study in studies() if study.name.startswith(incomplete)]


@study.command("list")
def list_command() -> None:
    """List the studies, with their questions and the experiments that they repeat."""
    from shesha.report import wrap
    from shesha_studies import studies

    for study in studies():
        echo(f"{study.name} ({study.paper}; {len(study.quick)} cells with --quick, {len(study.full)} in all)")
        echo(*wrap(study.question, 80, "    ", ""))


@study.command("run")
def run_command(
    names: Annotated[
        list[str],
        typer.Argument(
            help="Names, 'all', or your own module:name or file.py:name.", metavar="NAME...", autocompletion=_names
        ),
    ],
    quick: Annotated[
        bool, typer.Option("--quick", help="Compute only a few cells, in less than two minutes on two cores.")
    ] = False,
    out: OutFolder = _DEFAULT,
    workers: shared.Workers = None,
    scheduler: shared.Scheduler = None,
    again: Annotated[bool, typer.Option("--again/--only-missing", help="Recompute existing cells.")] = False,
    where: Annotated[
        list[str] | None,
        typer.Option(help="Only cells with this value of a parameter (may be repeated).", metavar="NAME=VALUE"),
    ] = None,
    html: Annotated[bool, typer.Option("--html", help="Also write page.html, one file with its pictures.")] = False,
) -> None:
    """Compute the missing cells of a study, and write a table, pictures and a page; rerun to resume.

    A cell is one combination of parameters. Data are read from the folder in SHESHA_DATA. The exit status is 1 if a
    cell raised an error.
    """
    from shesha_studies import run, studies
    from shesha_studies.framework.html_page import study_page
    from shesha_studies.framework.run_files import has_page

    shared.require_page(out / "page.html" if html and out.is_dir() else None)
    pairs = [text.partition("=") for text in where or ()]
    if unclear := [name for name, equals, _ in pairs if not equals]:
        raise ValueError(f"--where must be NAME=VALUE, got {unclear[0]!r}")
    only = {name: value for name, _, value in pairs}
    chosen = [study.name for study in studies()] if "all" in names else names
    with _explain_resume(out):
        study_runs = run(chosen, quick=quick, out=out, workers=workers, scheduler=scheduler, again=again, only=only)
    for study_run in study_runs:
        echo(*_summary_lines(study_run, out))
        if html and has_page(study_run.study, out):
            shared.save_page(out / study_run.study.name / "page.html", partial(study_page, study_run), [])
    if any(study_run.failures for study_run in study_runs):
        raise typer.Exit(_INCOMPLETE)


@contextmanager
def _explain_resume(out: Path) -> Iterator[None]:
    """After Ctrl-C, print how to resume."""
    try:
        yield
    except KeyboardInterrupt:
        echo(
            f"shesha: finished cells are in {out}. Rerun the same command without --again to resume, or use `shesha "
            f"study page NAME --out {out}` to see the results so far.",
            err=True,
        )
        raise typer.Exit(INTERRUPTED) from None


def _summary_lines(study_run: StudyRun, out: Path) -> list[str]:
    from shesha_studies.framework.run_files import page_path

    lines = [
        f"{study_run.study.name}: {len(study_run.rows)} of {study_run.n_cells} cells, {page_path(study_run.study, out)}"
    ]
    for what, cells in (("failed", study_run.failures), ("not reachable", study_run.unreachable)):
        lines += [f"  {what}: {reason}" for reason in sorted(set(cells.values()))[:5]]
    return lines


@study.command("page")
def page_command(
    name: Annotated[str, typer.Argument(help="Name, or your own module:name or file.py:name.", autocompletion=_names)],
    out: OutFolder = _DEFAULT,
    html: shared.Html = None,
) -> None:
    """Write a study's page from the existing results, and print its path."""
    from shesha_studies import write_page
    from shesha_studies.framework.html_page import study_page
    from shesha_studies.framework.run_files import has_page
    from shesha_studies.framework.run_studies import load_run

    shared.require_page(html)
    echo(str(write_page(name, out)))
    if html is None:
        return
    study_run = load_run(name, out)
    if not has_page(study_run.study, out):
        raise ValueError(
            f"--html must be used with a finished study, got missing cells; run `shesha study run {name}` first"
        )
    shared.save_page(html, partial(study_page, study_run), [])


@study.command("index")
def index_command(out: OutFolder = _DEFAULT) -> None:
    """Write a page of all published numbers and ours, from the finished studies, and print its path."""
    from shesha_studies import write_index

    echo(str(write_index(out)))
