"""Data sets that we may not distribute (in the folder SHESHA_DATA), and optional libraries."""

from __future__ import annotations

import csv
import os
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from shesha_studies.framework.study_decorator import Unreachable

PUBLISHED = Path(__file__).with_name("published")
"""Folder with published numbers and claims."""


def place(*names: str, source: str = "") -> Path:
    """Return the path of a file, or raise `Unreachable` with the expected path and the source of the file."""
    folder, deposit = os.environ.get("SHESHA_DATA"), f"; {source}" if source else ""
    if folder is None:
        raise Unreachable(
            f"{'/'.join(names)} is not available, because SHESHA_DATA does not name a folder of data sets "
            f"(docs/studies.md{deposit})"
        )
    path = Path(folder).joinpath(*names)
    if not path.is_file():
        raise Unreachable(f"{'/'.join(names)} is not in the folder that SHESHA_DATA names{deposit}")
    return path


def library(name: str, package: str | None = None) -> Any:
    """Return a module of a library that only studies need, or raise `Unreachable` with the command to install it."""
    try:
        return import_module(name)
    except ImportError:
        needed = package or name.partition(".")[0]
        raise Unreachable(f"{needed} is not installed: pip install {needed}") from None


def sklearn(part: str) -> Any:
    """Return a module of scikit-learn."""
    return library(f"sklearn.{part}", "scikit-learn")


@cache
def read_arrays(*names: str) -> dict[str, NDArray[Any]]:
    """Return the arrays of an .npz file by name."""
    with np.load(place(*names), allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}


@cache
def table(*names: str) -> pd.DataFrame:
    """Return a table as pandas reads it."""
    return pd.read_csv(place(*names))


def lines(*names: str, source: str = "") -> list[dict[str, str]]:
    """Return the lines of a table, by the names of its columns."""
    with place(*names, source=source).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))
