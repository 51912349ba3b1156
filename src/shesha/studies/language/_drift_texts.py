"""Sentences that studies of drift read, and what is known of them."""

from __future__ import annotations

import os
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shesha._types import Labels, Vector
from shesha.studies._study import Unreachable

if TYPE_CHECKING:
    import pandas as pd

SETS = ("news", "captions", "forums", "reviews")
"""Stand-ins for the published prompts (factual, descriptive, conversational, instructions), which are not at hand."""
PROMPTS = 50
LONGEST = 15


def place(folder: str, name: str) -> Path:
    """Return a file of the data sets, or say where it was looked for."""
    root = os.environ.get("SHESHA_DATA")
    if root is None:
        raise Unreachable(f"{folder}/{name}: SHESHA_DATA is not set, the folder of the data sets (docs/studies.md)")
    found = Path(root, folder, name)
    if not found.exists():
        raise Unreachable(f"{folder}/{name} is not under SHESHA_DATA, {root}")
    return found


@cache
def table(folder: str, name: str) -> pd.DataFrame:
    """Read a file of the data sets once."""
    import pandas as pd

    return pd.read_csv(place(folder, name))


def sst2(n: int) -> tuple[list[str], Labels]:
    """Return the first n validation sentences, half of each class, and whether they are positive."""
    half = table("sst2", "validation.csv").groupby("label").head(n // 2)
    return half["sentence"].tolist(), half["label"].to_numpy(dtype=np.intp)


def stsb(n: int) -> tuple[list[str], list[str], Vector]:
    """Return every so-many-th of the pairs of sentences (they are sorted by genre), n of them, and their scores."""
    every = table("stsb", "validation.csv")
    chosen = every.iloc[np.linspace(0, len(every) - 1, n).round().astype(int)]
    return chosen["sentence1"].tolist(), chosen["sentence2"].tolist(), chosen["score"].to_numpy(dtype=np.float64)


def prompts(kind: str, n: int = PROMPTS) -> list[str]:
    """Return n different sentences of a kind of `SETS`, of at most 15 words."""
    if kind == "reviews":
        every = table("sst2", "validation.csv")["sentence"]
    else:
        pairs = table("stsb", "validation.csv")
        every = pairs.loc[pairs["genre"] == f"main-{kind}", "sentence1"]
    short = [one for one in dict.fromkeys(every) if 4 <= len(one.split()) <= LONGEST]
    return short[:: max(1, len(short) // n)][:n]


def sklearn(part: str) -> Any:
    """Return a module of scikit-learn, which no part of the library needs but these studies do."""
    try:
        return import_module(f"sklearn.{part}")
    except ImportError:
        raise Unreachable("scikit-learn is not installed: pip install scikit-learn") from None
