"""What a store holds, as tests want to see it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from shesha_bench.store import Store


def cells(store: str | Path = "a.sqlite") -> list[tuple[Any, ...]]:
    """Return first, second, measure, value and reason of every comparison."""
    with Store(store, create=False) as opened:
        return sorted(opened.query("SELECT first, second, measure, value, reason FROM cell"))


def key_of(kind: str, degree: float, seed: int, store: str | Path = "a.sqlite") -> str:
    """Return the key of a planned model."""
    with Store(store, create=False) as opened:
        return next(key for place, key in opened.keys().items() if place[3:] == (kind, degree, seed))
