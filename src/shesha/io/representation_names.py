"""Short, distinct names of files and models, and of the arrays of several files."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Container, Iterable
from pathlib import Path

from shesha.io.file_checks import file_stem


def short_paths(paths: Iterable[str | os.PathLike[str]], *, endings: bool = True) -> list[str]:
    """Return the last part of each path, with as many folders before it as are needed to be distinct.

    Without `endings`, file endings are left out unless they alone distinguish two paths. Repeated paths are numbered.

    Examples
    --------
    >>> short_paths(["run1/final/emb.npy", "run2/final/emb.npy", "old.npy"], endings=False)
    ['run1/final/emb', 'run2/final/emb', 'old']
    >>> short_paths(["base", "models/tuned"]), short_paths(["base", "base"])
    (['base', 'tuned'], ['base (1)', 'base (2)'])
    """
    whole = [Path(path) for path in paths]
    plain = whole if endings else [path.parent / file_stem(path) for path in whole]
    counts = Counter(plain)
    chosen = [path if counts[short] > 1 else short for path, short in zip(whole, plain, strict=True)]
    depths = [1] * len(chosen)
    while True:
        names = [Path(*path.parts[-depth:]).as_posix() for path, depth in zip(chosen, depths, strict=True)]
        uses = Counter(names)
        longer = [
            depth + 1 if uses[name] > 1 and depth < len(path.parts) else depth
            for name, path, depth in zip(names, chosen, depths, strict=True)
        ]
        if longer == depths:
            return [f"{name} ({names[:i].count(name) + 1})" if uses[name] > 1 else name for i, name in enumerate(names)]
        depths = longer


def full_name(path: Path, short: str, name: str, taken: Container[str], *, alone: bool) -> str:
    """Return the name of an array, with the short or whole path of its file if needed to be unique."""
    full = name if alone else short if name == file_stem(path) else f"{short}:{name}"
    return f"{path}:{name}" if full in taken else full
