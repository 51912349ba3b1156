"""Real data sets that are not ours to ship, under the folder that SHESHA_DATA names."""

from __future__ import annotations

import csv
import os
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shesha.studies._study import Unreachable


def place(*names: str) -> Path:
    """Return where a file is.

    Raises
    ------
    Unreachable
        If it is not there; says where it was looked for.
    """
    folder = os.environ.get("SHESHA_DATA")
    if folder is None:
        raise Unreachable(f"{'/'.join(names)}: SHESHA_DATA names no folder of data sets (docs/studies.md)")
    found = Path(folder).joinpath(*names)
    if not found.is_file():
        raise Unreachable(f"{'/'.join(names)} is not in the folder that SHESHA_DATA names")
    return found


@cache
def opened(*names: str) -> dict[str, NDArray[Any]]:
    """Return the arrays of an .npz file by name."""
    with np.load(place(*names), allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}


def lines(*names: str) -> list[dict[str, str]]:
    """Return the lines of a table, by the names of its columns."""
    with place(*names).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))
