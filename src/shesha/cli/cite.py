"""`shesha cite`: print BibTeX entries for measures and scores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from shesha.cli._commands import command
from shesha.cli._outputs import echo
from shesha.cli._run import Run
from shesha.support.files import read_json


@command()
def cite_command(run: Run, used: list[str] | None = None) -> None:
    """Print BibTeX entries for this library and the sources of measures and scores.

    Parameters
    ----------
    used : [NAME|FILE]...
        Measures, scores or descriptors by name, or results saved with --json.

    Examples
    --------
    shesha cite cka 'mutual kNN' feature_split > used.bib
    shesha cite comparison.json
    """
    import shesha

    entries = shesha.cite(*(_read(name) if name.endswith(".json") else name for name in used or ()))
    echo(*str(entries).split("\n"))


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
