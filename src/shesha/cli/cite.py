"""`shesha cite`: BibTeX for measures and scores."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def cite_command(
    used: Annotated[
        list[str] | None,
        typer.Argument(
            help="Measures, scores or descriptors by name, or results saved with --json.", metavar="[NAME|FILE]..."
        ),
    ] = None,
) -> None:
    """Print BibTeX entries for this library and the sources of measures and scores."""
    import shesha

    items = [shesha.load(name) if name.endswith(".json") and Path(name).is_file() else name for name in used or ()]
    typer.echo(str(shesha.cite(*items)))
