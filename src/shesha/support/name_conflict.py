"""Detect other distributions that install the import name `shesha`.

Installed over this library, another replaces the package's first file; installed before it, files of its own stay
beside ours. Both are noticed by looking at one attribute and two names of files, which costs microseconds.
"""

from __future__ import annotations

import sys
import warnings
from functools import cache
from pathlib import Path

from shesha._version import DISTRIBUTION as DISTRIBUTION

FOREIGN = {"_rdm.py": "shesha-geometry", "constants.py": "shesha (adaptive optics)"}
"""A file that only the other distribution has."""


def strangers(folder: Path | None = None) -> list[str]:
    """Return the distributions whose files lie in the folder of the package."""
    place = Path(__file__).parents[1] if folder is None else folder
    return [name for file, name in FOREIGN.items() if (place / file).exists()]


def overwritten() -> bool:
    """Whether the package's first file is another's: ours says what the distribution is called."""
    return getattr(sys.modules.get("shesha"), "DISTRIBUTION", None) != DISTRIBUTION


def remedy(others: list[str]) -> str:
    """Say what to do."""
    names = " ".join(dict.fromkeys(name.partition(" ")[0] for name in others)) or "shesha-geometry shesha"
    return (
        f"pip uninstall {names} {DISTRIBUTION}, then pip install {DISTRIBUTION}; packages that share the import name "
        "need an environment each"
    )


@cache
def notice() -> None:
    """Refuse to go on with files of several distributions that do not fit, and warn where they may.

    Raises
    ------
    ImportError
        The package's first file is another's, so nothing here can work.
    """
    others = strangers()
    if overwritten():
        whose = ", ".join(others) or "another distribution"
        where = Path(__file__).parents[1]
        raise ImportError(f"files of {whose} lie over those of {DISTRIBUTION} in {where}: {remedy(others)}")
    if others:
        warnings.warn(
            f"files of {', '.join(others)} lie among those of {DISTRIBUTION} in {Path(__file__).parents[1]}: "
            f"{remedy(others)}",
            UserWarning,
            stacklevel=2,
        )
