"""Options of every command that distributes work over processes: `--workers` and `--scheduler`."""

from typing import Annotated

import typer

Workers = Annotated[int | None, typer.Option(help="Number of local processes; default: one per core.")]
WorkersOfSeveral = Annotated[
    int | None,
    typer.Option(help="Number of local processes that share the work; default: 1, with several threads."),
]
Scheduler = Annotated[str | None, typer.Option(help="Address of a Dask scheduler to use instead of local processes.")]
