"""Detection of other distributions that install the import name `shesha`.

A distribution that is installed after this library replaces the package's ``__init__.py``; one that was installed
before it leaves other files in the folder. One attribute and two file names reveal both cases within microseconds.
"""

from __future__ import annotations

import sys
import warnings
from functools import cache
from pathlib import Path

from shesha._version import DISTRIBUTION as DISTRIBUTION

FOREIGN = {"_rdm.py": "shesha-geometry", "constants.py": "shesha (adaptive optics)"}
"""Files by which other distributions with the import name `shesha` are recognised."""


def other_distributions(folder: Path | None = None) -> list[str]:
    """Return the names of other distributions that have files in the package's folder."""
    place = Path(__file__).parents[1] if folder is None else folder
    return [name for file, name in FOREIGN.items() if (place / file).exists()]


def overwritten() -> bool:
    """Return whether the package's ``__init__.py`` belongs to another distribution."""
    return getattr(sys.modules.get("shesha"), "DISTRIBUTION", None) != DISTRIBUTION


def remedy(others: list[str]) -> str:
    """Return instructions for repairing the installation."""
    names = " ".join(dict.fromkeys(name.partition(" ")[0] for name in others)) or "shesha-geometry shesha"
    return (
        f"run pip uninstall {names} {DISTRIBUTION}, then pip install {DISTRIBUTION}; install packages with the same "
        "import name in separate environments"
    )


@cache
def notice() -> None:
    """Raise an error if another distribution replaced this library; warn if only files are mixed.

    Raises
    ------
    ImportError
        If the package's ``__init__.py`` belongs to another distribution, so that this library cannot work.
    """
    others = other_distributions()
    if overwritten():
        whose = ", ".join(others) or "another distribution"
        where = Path(__file__).parents[1]
        raise ImportError(f"{whose} has overwritten files of {DISTRIBUTION} in {where}: {remedy(others)}")
    if others:
        warnings.warn(
            f"files of {', '.join(others)} are mixed with those of {DISTRIBUTION} in {Path(__file__).parents[1]}: "
            f"{remedy(others)}",
            UserWarning,
            stacklevel=2,
        )
