"""Two files that do not fit the memory: `shesha compare` counts their rows in one pass, and resumes after Ctrl-C."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer


def need_stretches(files: Sequence[Path], measures: Sequence[str], *, plain: bool) -> bool:
    """Whether two files are too large for every measure asked for, and may be read in stretches.

    `plain` says that nothing was asked for that needs single rows.
    """
    from shesha.comparison.memory_needs import none_fits
    from shesha.io.large_matrices import ENDINGS, open_matrix
    from shesha.measures import choose, takes_moments

    if not plain or len(files) != 2 or any(file.suffix.lower() not in ENDINGS for file in files):
        return False
    try:
        first, second = (open_matrix(file) for file in files)
        chosen = choose(list(measures))
        return none_fits(first, second, chosen) and any(map(takes_moments, chosen))
    except ValueError:
        # What is wrong with the files is for their readers to say.
        return False


def compare_large(files: Sequence[Path], measures: Sequence[str], *, calibrate: bool, **options: Any) -> Any:
    """Compare the matrices of two files from sums over their rows, which are kept until they have been counted."""
    from shesha.comparison import compare
    from shesha.moments import Moments

    names = [file.stem for file in files]
    if names[0] == names[1]:
        names = [str(file) for file in files]
    state = _state_file(files)
    typer.echo("shesha: the files do not fit the memory budget: counting rows in one pass", err=True)
    try:
        moments = Moments.of(*files, names=names, state=state)
    except KeyboardInterrupt:
        typer.echo("shesha: interrupted: rerun the same command to resume", err=True)
        raise
    found = compare(moments, list(measures), calibrate=calibrate, **options)
    state.unlink(missing_ok=True)
    return found


def _state_file(files: Sequence[Path]) -> Path:
    """Where the state of a pass over these files is kept: a name that other files, or the same after a change, lack."""
    known = "\n".join(f"{file.resolve()} {file.stat().st_size} {file.stat().st_mtime_ns}" for file in files)
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "shesha"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"moments-{hashlib.blake2b(known.encode(), digest_size=8).hexdigest()}.npz"
