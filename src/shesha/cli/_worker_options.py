"""The options `--workers` and `--scheduler`, which all commands with parallel work share."""

from typing import Annotated

import typer

Workers = Annotated[int | None, typer.Option(help="Number of local processes; default: one per core.")]
WorkersOfSeveral = Annotated[
    int | None,
    typer.Option(help="Number of local processes that share the work; default: 1, with several threads."),
]
Scheduler = Annotated[str | None, typer.Option(help="Address of a Dask scheduler to use instead of local processes.")]


def require_workers(workers: int | None) -> None:
    """Refuse fewer than one process."""
    if workers is not None and workers < 1:
        raise ValueError(f"--workers must be at least 1, got {workers}")
