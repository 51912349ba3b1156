"""`shesha cite`: print BibTeX entries for measures and scores."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from shesha.cli._outputs import echo
from shesha.support.regular_files import read_json


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

    echo(str(shesha.cite(*(_read(name) if name.endswith(".json") else name for name in used or ()))))


def _read(name: str) -> Any:
    """Return a result that `save` wrote, or the plain values that a command wrote with --json."""
    import shesha

    path = Path(name)
    content = read_json(path, "FILE")
    if not isinstance(content, dict) or "shesha" not in content:
        raise ValueError(
            f"FILE must contain a result of shesha, saved or written with --json, got other JSON in {name}"
        )
    return shesha.load(path) if "result" in content and "format" in content else content
